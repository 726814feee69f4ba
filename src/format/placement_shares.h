#pragma once
#include "format/placement_planner.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::format {

struct RankedSegment {
  uint32_t index = 0;  ///< In the request.
  double uses = 0.0;
  double bytes = 0.0;
};

/// Segments from the most to the least used, and how much reading their first bytes make up. Mass
/// is bytes times uses.
class UseCurve {
 public:
  explicit UseCurve(std::span<const PlannedSegment> segments);

  /// Of equally used ones the first comes first.
  [[nodiscard]] std::span<const RankedSegment> ranked() const { return ranked_; }
  [[nodiscard]] double bytes() const { return bytes_before_.back(); }
  [[nodiscard]] double mass() const { return mass_before_.back(); }
  /// The greatest mass that fits in so many bytes.
  [[nodiscard]] double mass_of_first(double bytes) const;

 private:
  std::vector<RankedSegment> ranked_;
  std::vector<double> bytes_before_, mass_before_;  // By rank, and the end.
};

/// The mass that each drive reads in the placement whose busiest drive is done soonest, and of
/// those where the next one is, and so on. The drives' room suffices for all bytes.
[[nodiscard]] std::vector<double> least_busy_masses(const UseCurve& curve,
                                                    std::span<const PlannedDrive> drives);

/// [ranks][drives]: the part of each segment that a drive shall read, so that it reads `masses` and
/// holds no more than its room. Masses are those of least_busy_masses().
[[nodiscard]] std::vector<double> read_shares(const UseCurve& curve,
                                              std::span<const PlannedDrive> drives,
                                              std::span<const double> masses);

}  // namespace sluice::format
