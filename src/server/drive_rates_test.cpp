// Without this test the live view could show rates of the wrong time.
#include "server/drive_rates.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A drive that has read so many bytes, in hints and for requests, and was busy so long.
std::vector<stream::DriveCounters> counters(uint64_t bytes, Nanos busy) {
  stream::DriveCounters drive;
  drive.bytes = {0, bytes / 2, bytes - bytes / 2, 0};
  drive.busy = busy;
  return {drive};
}

TEST(DriveRates, AreOfTheLastTwoSeconds) {
  DriveRates rates;
  EXPECT_EQ(rates.next(seconds(1), counters(1000, {})).at(0).bytes_per_second, 0);
  struct Step {
    Nanos at;
    uint64_t bytes;
    Nanos busy;
    double bytes_per_second, busy_share;
  };
  const Step steps[] = {
      {milliseconds(1100), 1100, milliseconds(50), 1000, 0.5},  // Too soon to be kept.
      {milliseconds(1500), 3000, milliseconds(250), 4000, 0.5},
      {seconds(3), 4000, milliseconds(500), 1500, 0.25},
      {milliseconds(3500), 4000, milliseconds(500), 500, 0.125},      // Since 1.5 s.
      {milliseconds(13'500), 24'000, milliseconds(5500), 2000, 0.5},  // The call before.
      {milliseconds(13'500), 24'000, milliseconds(5500), 2000, 0.5},
  };
  for (const Step& step : steps) {
    const DriveRate rate = rates.next(step.at, counters(step.bytes, step.busy)).at(0);
    EXPECT_DOUBLE_EQ(rate.bytes_per_second, step.bytes_per_second) << step.at.count();
    EXPECT_DOUBLE_EQ(rate.busy_share, step.busy_share) << step.at.count();
  }
}

}  // namespace
}  // namespace sluice::server
