#include "cli/drives_verdict.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

double ratio(Nanos path, Nanos reference) {
  return std::chrono::duration<double>(path) /
         std::max(std::chrono::duration<double>(reference), std::chrono::duration<double>(1e-9));
}

}  // namespace

const char* name(DriveVerdict::Grade grade) {
  switch (grade) {
    case DriveVerdict::Grade::kAsGood:
      return "as good";
    case DriveVerdict::Grade::kUsable:
      return "usable";
    case DriveVerdict::Grade::kTooSlow:
      break;
  }
  return "too slow";
}

DriveVerdict verdict_of(const DriveComparison& comparison) {
  using Grade = DriveVerdict::Grade;
  DriveVerdict verdict;
  for (const ComparedLatency& latency : comparison.latencies) {
    verdict.latency_ratio =
        std::max({verdict.latency_ratio, ratio(latency.path.p50, latency.reference.p50),
                  ratio(latency.path.p90, latency.reference.p90)});
  }
  verdict.rate_ratio = comparison.path_rate / std::max(comparison.reference_rate, 1e-9);
  const double slower = std::max(verdict.latency_ratio, 1 / std::max(verdict.rate_ratio, 1e-9));
  const std::string figures = fmt::format("a read takes {:.2f} times as long, the rate is {:.2f}",
                                          verdict.latency_ratio, verdict.rate_ratio);
  if (slower <= kAsGoodRatio) {
    verdict.text = fmt::format("as good: {}", figures);
  } else if (slower <= kUsableRatio) {
    verdict.grade = Grade::kUsable;
    verdict.text = fmt::format("usable: {}; give it less than an equal share", figures);
  } else if (verdict.rate_ratio >= 1 / kUsableRatio) {
    verdict.grade = Grade::kUsable;
    verdict.text = fmt::format("usable: {}; only with many reads in flight", figures);
  } else {
    verdict.grade = Grade::kTooSlow;
    verdict.text = fmt::format(
        "too slow: would end most layers last: {}; let it hold second copies only", figures);
  }
  return verdict;
}

}  // namespace sluice::cli
