#pragma once
#include "base/types.h"
#include "stream/reading_counters.h"

#include <deque>
#include <vector>

namespace sluice::server {

/// How fast drives were lately.
struct DriveRate {
  double bytes_per_second = 0;
  double busy_share = 0;  ///< Of the time, 0 to 1.
};

/// Makes rates of counters: of the last two seconds, or since the call before when that is longer
/// ago. Keeps a dozen moments. One thread at a time.
class DriveRates {
 public:
  /// By drive, at `now`, which never falls.
  [[nodiscard]] std::vector<DriveRate> next(Nanos now, std::vector<stream::DriveCounters> counters);

 private:
  struct Moment {
    Nanos at{};
    std::vector<stream::DriveCounters> counters;
  };
  std::deque<Moment> moments_;
};

}  // namespace sluice::server
