#include "server/drive_rates.h"

#include <chrono>
#include <utility>

namespace sluice::server {
namespace {

constexpr Nanos kSpan = std::chrono::seconds(2);
constexpr Nanos kLeastBetween = std::chrono::milliseconds(200);

}  // namespace

std::vector<DriveRate> DriveRates::next(Nanos now, std::vector<stream::DriveCounters> counters) {
  while (moments_.size() > 1 && now - moments_[1].at >= kSpan) moments_.pop_front();
  std::vector<DriveRate> rates(counters.size());
  if (!moments_.empty() && now > moments_.front().at) {
    const auto& [at, before] = moments_.front();
    for (size_t d = 0; d < counters.size(); ++d) {
      const uint64_t bytes = stream::bytes_read(counters[d]) - stream::bytes_read(before[d]);
      rates[d].bytes_per_second = static_cast<double>(bytes) / to_seconds(now - at);
      rates[d].busy_share = to_seconds(counters[d].busy - before[d].busy) / to_seconds(now - at);
    }
  }
  if (moments_.empty() || now - moments_.back().at >= kLeastBetween) {
    moments_.push_back({now, std::move(counters)});
  }
  return rates;
}

}  // namespace sluice::server
