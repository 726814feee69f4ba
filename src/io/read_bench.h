#pragma once
#include "io/drive_array.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::io {

/// Reads of a size, so many in flight at every time.
struct ReadSetting {
  uint64_t bytes = 0;  ///< Of a read; whole blocks.
  uint32_t depth = 0;
  /// Bytes in flight.
  [[nodiscard]] uint64_t window() const { return bytes * depth; }
  friend bool operator==(const ReadSetting&, const ReadSetting&) = default;
};

/// Reads of one drive, at places chosen at random among those that a read may have.
struct ReadLoad {
  struct File {
    FileId id;
    uint64_t bytes = 0;
  };
  std::string name;         ///< Of the drive, for messages.
  std::vector<File> files;  ///< Each has room for a read.
  ReadSetting setting;
  std::span<std::byte> memory;  ///< setting.window() bytes, aligned to blocks.
};

/// What came of a load.
struct ReadTurn {
  double bytes_per_second = 0;  ///< All bytes by the time from the first start to the last end.
  std::vector<Nanos> latencies{};
};

struct ReadTurnOptions {
  double seconds = 1;  ///< Reads start for so long, and each place of a load is used at least once.
  uint64_t seed = 1;   ///< Of the places.
};

/// Reads all loads at the same time. Throws Error(kIo) that names the drive when a read fails, or
/// when none ends for a minute.
[[nodiscard]] std::vector<ReadTurn> measure_reads(DriveArray& drives,
                                                  std::span<const ReadLoad> loads,
                                                  const ReadTurnOptions& options);

/// The smallest duration that so large a share of them does not exceed; 0 when there are none.
[[nodiscard]] Nanos percentile(std::vector<Nanos> durations, double share);

struct Latency {
  Nanos p50{}, p90{}, p99{};
};
[[nodiscard]] Latency latency_of(const std::vector<Nanos>& durations);

/// Several turns of one setting, apart from each other, because a neighbour may disturb some.
struct ReadCell {
  ReadSetting setting;
  double bytes_per_second = 0;  ///< The median of the turns.
  uint64_t reads = 0;
  Latency latency{};  ///< Of the reads of all turns.
};
[[nodiscard]] ReadCell cell_of(const ReadSetting& setting, const std::vector<ReadTurn>& turns);

/// The most that a drive gave, and the least that must be in flight for nearly all of it.
struct ReadCeiling {
  double bytes_per_second = 0;
  ReadSetting at;
  ReadSetting enough;  ///< The fewest bytes in flight that gave 95 % of it.
};
/// `cells` is not empty.
[[nodiscard]] ReadCeiling ceiling_of(std::span<const ReadCell> cells);

}  // namespace sluice::io
