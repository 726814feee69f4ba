#pragma once
#include "format/placement_planner.h"

#include <cstdint>
#include <span>

namespace sluice::format {

/// Exchanges the holders of pieces of one segment that have the same size, so that as much as
/// possible stays where it is `now`: for speed, survival and room it makes no difference which of
/// them lies where. Pure. [pieces of the segment]
void keep_in_place(std::span<const uint32_t> piece_bytes, std::span<const DriveSet> now,
                   std::span<DriveSet> planned);

}  // namespace sluice::format
