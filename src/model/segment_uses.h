#pragma once
#include "format/placement_planner.h"
#include "model/placed_model.h"

#include <filesystem>
#include <span>
#include <vector>

namespace sluice::model {

struct UseRequest {
  std::vector<std::filesystem::path> routes{};  ///< Traces of the model; none: all experts alike.
  /// How often a token reads a matrix that is no expert: 1 where memory holds none of them, almost
  /// never where they stay there.
  double spine_uses = 0.001;
};

/// How often a token reads each segment, by its index in ShardLayout: experts as often as rows of
/// the traces chose them, whether or not they were in memory. Throws Error that names a trace of
/// another model, and as RouteTraceReader does.
[[nodiscard]] std::vector<double> segment_uses(const PlacedModel& model, const UseRequest& request);

/// Every part of a segment that lies in one shard, in the order of a PieceLayout.
[[nodiscard]] std::vector<format::PlannedSegment> planned_segments(const PlacedModel& model,
                                                                   std::span<const double> uses);

}  // namespace sluice::model
