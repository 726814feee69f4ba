// Without these tests a source that holds every layer up could be called good enough.
#include "cli/drives_verdict.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using std::chrono::microseconds;
using Grade = DriveVerdict::Grade;

io::Latency latency(int p50, int p90, int p99 = 1'000'000) {
  return {microseconds(p50), microseconds(p90), microseconds(p99)};
}

TEST(DrivesVerdict, FollowsTheWorstRatio) {
  struct Case {
    std::vector<ComparedLatency> latencies;
    double path_rate, reference_rate;
    Grade grade;
    const char* says;
    double latency_ratio, rate_ratio;
  };
  const io::Latency reference = latency(100, 200);
  const Case cases[] = {
      {{{1, latency(100, 200), reference}}, 1, 1, Grade::kAsGood, "as good", 1, 1},
      {{{1, latency(50, 100), reference}}, 3, 1, Grade::kAsGood, "as good", 0.5, 3},
      {{{1, latency(110, 220), reference}}, 1, 1.1, Grade::kAsGood, "as good", 1.1, 1 / 1.1},
      // The slower size, or the slower tenth, counts.
      {{{1, latency(100, 200), reference}, {2, latency(140, 200), reference}},
       1,
       1,
       Grade::kUsable,
       "less than an equal share",
       1.4,
       1},
      {{{1, latency(100, 290), reference}}, 1, 1, Grade::kUsable, "equal share", 1.45, 1},
      // Bad percentiles beyond those do not: few reads make them.
      {{{1, latency(100, 200, 9'000'000), reference}}, 1, 1, Grade::kAsGood, "as good", 1, 1},
      {{{1, latency(100, 200), reference}}, 0.7, 1, Grade::kUsable, "equal share", 1, 0.7},
      {{{1, latency(800, 900), reference}}, 0.7, 1, Grade::kUsable, "many reads", 8, 0.7},
      {{{1, latency(800, 900), reference}},
       0.5,
       1,
       Grade::kTooSlow,
       "end most layers last",
       8,
       0.5},
      {{{1, latency(100, 200), reference}}, 0.5, 1, Grade::kTooSlow, "second copies", 1, 0.5},
  };
  for (const Case& c : cases) {
    const DriveVerdict verdict = verdict_of(
        {.latencies = c.latencies, .path_rate = c.path_rate, .reference_rate = c.reference_rate});
    EXPECT_EQ(verdict.grade, c.grade) << verdict.text;
    EXPECT_THAT(verdict.text, testing::HasSubstr(c.says));
    EXPECT_THAT(verdict.text, testing::StartsWith(name(c.grade)));
    EXPECT_NEAR(verdict.latency_ratio, c.latency_ratio, 1e-9);
    EXPECT_NEAR(verdict.rate_ratio, c.rate_ratio, 1e-9);
  }
}

}  // namespace
}  // namespace sluice::cli
