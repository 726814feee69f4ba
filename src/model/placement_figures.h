#pragma once
#include "format/placement_file.h"
#include "format/placement_planner.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::model {

/// Volumes that are read as one and lost together.
struct PlacedDrive {
  std::string name;               ///< Their labels.
  std::vector<uint32_t> volumes;  ///< By bit of a VolumeSet.
  double rate = 0.0;              ///< Bytes per second; 0: not known.
  uint64_t room_bytes = 0;        ///< For pieces, those that it has already included.
};

/// What pieces that lie in some way come to.
struct PlacementFigures {
  struct Drive {
    uint64_t stored_bytes = 0;  ///< Of pieces, as they are in memory.
    double read_bytes = 0.0;    ///< For a token that finds nothing in memory.
  };
  std::vector<Drive> drives{};
  double read_bytes = 0.0;  ///< All of them together.
  double seconds = 0.0;     ///< The busiest drive's time for a token; 0: not known.
  double bound_seconds = 0.0;
  uint32_t survives = 0;                    ///< How many lost drives, whichever they are.
  std::vector<uint64_t> bytes_by_copies{};  ///< [n]: bytes of pieces that n drives hold.

  /// Of all drives together; 0: not known.
  [[nodiscard]] double rate() const { return seconds > 0.0 ? read_bytes / seconds : 0.0; }
  /// What no placement is above; likewise.
  [[nodiscard]] double bound_rate() const {
    return bound_seconds > 0.0 ? read_bytes / bound_seconds : 0.0;
  }
};

/// The drives of pieces whose volumes are known, shard after shard.
[[nodiscard]] std::vector<format::DriveSet> drive_holders(const format::PieceLayout& layout,
                                                          std::span<const PlacedDrive> drives);

/// `segments`: as planned_segments() gives them. Rates that are not known are taken as equal, and
/// leave the times 0.
[[nodiscard]] PlacementFigures placement_figures(std::span<const PlacedDrive> drives,
                                                 std::span<const format::PlannedSegment> segments,
                                                 std::span<const format::DriveSet> holders);

}  // namespace sluice::model
