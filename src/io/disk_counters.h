#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

/// What the system has counted of a block device since it was attached.
struct DiskCounters {
  std::string name;  ///< "nvme0n1".
  uint64_t reads = 0, read_bytes = 0, read_ms = 0;
  uint64_t writes = 0, write_bytes = 0, write_ms = 0;
  uint64_t busy_ms = 0;    ///< Something was in flight.
  uint64_t queued_ms = 0;  ///< Summed over all that was in flight.
  friend bool operator==(const DiskCounters&, const DiskCounters&) = default;
};

/// What /proc/diskstats says, in its order; lines of another form are left out.
[[nodiscard]] std::vector<DiskCounters> parse_disk_counters(std::string_view diskstats);

/// What a drive did in a stretch of time.
struct DriveRates {
  double read_bytes_per_second = 0, write_bytes_per_second = 0;
  double reads_per_second = 0;
  double queue = 0;       ///< Requests in flight, on average.
  double latency_ms = 0;  ///< Of a read, on average.
  double busy = 0;        ///< Share of the time with something in flight, 0 to 1.
  double share = 0;       ///< Of the bytes that all drives read, 0 to 1.
};

/// Between two looks that are `seconds` apart.
[[nodiscard]] DriveRates rates_between(const DiskCounters& before, const DiskCounters& after,
                                       double seconds);
/// Sets `share` of each.
void share_out(std::vector<DriveRates>& rates);

}  // namespace sluice::io
