#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::format {

/// What fails and is read as one: a device with the volumes on it.
struct PlannedDrive {
  double rate = 0.0;        ///< Bytes per second that it reads; positive.
  uint64_t room_bytes = 0;  ///< For pieces, those that it has already included.
};

/// A segment as the planner sees it.
struct PlannedSegment {
  double uses = 0.0;  ///< How often it is read, in any one unit; 0 or more.
  std::vector<uint32_t> piece_bytes{};
};

/// Drives as bits: bit d is drive d.
using DriveSet = uint32_t;
inline constexpr size_t kPlannedDrivesMax = 16;

struct PlacementRequest {
  std::span<const PlannedDrive> drives;  ///< At most kPlannedDrivesMax.
  std::span<const PlannedSegment> segments;
  /// Any so many drives may be lost, and all is still readable. Below Piece::kHoldersMax.
  uint32_t survive = 0;
  bool spare_copies = true;  ///< Fill room that is left with copies of what is used most.
};

/// What drives do per unit of uses, when each piece is read from whichever holder ends first.
struct PlacementForecast {
  double seconds = 0.0;                  ///< The busiest drive's time: max of read_bytes / rate.
  double bound_seconds = 0.0;            ///< What no placement within the room can be below.
  std::vector<double> read_bytes{};      ///< By drive.
  std::vector<uint64_t> stored_bytes{};  ///< Likewise.
  uint32_t survives = 0;                 ///< How many lost drives are survived, whichever they are.
  uint64_t lost_bytes = 0;  ///< Of pieces that nobody holds; no other figure counts them.
};

struct PlacementPlan {
  bool fits = false;
  /// When it does not: the room that is lacking. More is needed where pieces do not divide the
  /// room of a drive.
  uint64_t missing_bytes = 0;
  std::vector<DriveSet>
      holders{};                 ///< Of each piece, segment after segment; empty if nothing fits.
  PlacementForecast forecast{};  ///< Likewise.
};

/// Who holds what. Pure: the same request gives the same plan on every machine.
///
/// Each piece lies on `survive` + 1 drives. The pieces of a segment are spread over the drives in
/// proportion to their rates, so that those read together end together. A drive without room for
/// its part holds of the most used segments, so that it still has its part in reading. Room that is
/// left takes the spare copies, at most Piece::kHoldersMax of each piece. Where nothing is used at
/// all, everything counts alike.
[[nodiscard]] PlacementPlan plan_placement(const PlacementRequest& request);

/// The same figures for pieces that lie as `holders` says, for example now, or after a loss (then
/// without those drives' bits).
[[nodiscard]] PlacementForecast forecast_placement(const PlacementRequest& request,
                                                   std::span<const DriveSet> holders);

}  // namespace sluice::format
