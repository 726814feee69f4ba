#include "base/check.h"
#include "format/placement_planner.h"
#include "format/placement_shares.h"

#include <algorithm>
#include <bit>

namespace sluice::format {
namespace {

// Per set of drives: the sum over all sets within it.
std::vector<double> sums_within(std::vector<double> by_set, size_t drives) {
  for (size_t d = 0; d < drives; ++d) {
    for (DriveSet set = 0; set < by_set.size(); ++set) {
      if ((set >> d & 1u) != 0) by_set[set] += by_set[set ^ DriveSet{1} << d];
    }
  }
  return by_set;
}

// How long each drive reads when pieces of `mass` [sets of holders] are read as evenly as can be.
// What lies within a set of drives is read by nobody else, so the set with the most of it for its
// rates reads exactly that, each drive for the same time. All other pieces are left to the rest.
std::vector<double> least_busy_seconds(std::vector<double> mass,
                                       std::span<const PlannedDrive> drives) {
  std::vector<double> rate(mass.size());
  for (DriveSet set = 1; set < rate.size(); ++set) {
    rate[set] = rate[set & (set - 1)] + drives[static_cast<size_t>(std::countr_zero(set))].rate;
  }
  std::vector<double> seconds(drives.size());
  for (DriveSet open = static_cast<DriveSet>(mass.size() - 1); open != 0;) {
    const std::vector<double> within = sums_within(mass, drives.size());
    DriveSet busiest = 0;
    double most = 0.0;
    for (DriveSet set = open; set != 0; set = (set - 1) & open) {
      if (within[set] > most * rate[set]) {
        busiest = set;
        most = within[set] / rate[set];
      }
    }
    if (busiest == 0) break;
    for (size_t d = 0; d < drives.size(); ++d) {
      if ((busiest >> d & 1u) != 0) seconds[d] = most;
    }
    for (DriveSet set = 1; set < mass.size(); ++set) {
      if ((set & busiest) == 0) continue;
      if ((set & ~busiest) != 0) mass[set & ~busiest] += mass[set];
      mass[set] = 0.0;
    }
    open &= ~busiest;
  }
  return seconds;
}

double bound_seconds(const PlacementRequest& request) {
  double bound = 0.0;
  const std::vector<double> masses = least_busy_masses(UseCurve(request.segments), request.drives);
  for (size_t d = 0; d < masses.size(); ++d) {
    bound = std::max(bound, masses[d] / request.drives[d].rate);
  }
  return bound;
}

}  // namespace

PlacementForecast forecast_placement(const PlacementRequest& request,
                                     std::span<const DriveSet> holders) {
  const size_t n = request.drives.size();
  SLUICE_CHECK(n <= kPlannedDrivesMax);
  PlacementForecast forecast;
  forecast.stored_bytes.resize(n);
  std::vector<double> mass(size_t{1} << n);
  size_t next = 0;
  uint32_t fewest = static_cast<uint32_t>(n) + 1;
  for (const PlannedSegment& segment : request.segments) {
    SLUICE_CHECK(holders.size() - next >= segment.piece_bytes.size());
    for (const uint32_t bytes : segment.piece_bytes) {
      const DriveSet set = holders[next++];
      SLUICE_CHECK(set < mass.size());
      fewest = std::min(fewest, static_cast<uint32_t>(std::popcount(set)));
      if (set == 0) {
        forecast.lost_bytes += bytes;
        continue;
      }
      mass[set] += segment.uses * static_cast<double>(bytes);
      for (DriveSet rest = set; rest != 0; rest &= rest - 1) {
        forecast.stored_bytes[static_cast<size_t>(std::countr_zero(rest))] += bytes;
      }
    }
  }
  SLUICE_CHECK(next == holders.size());
  forecast.survives = fewest > 0 ? fewest - 1 : 0;

  const std::vector<double> seconds = least_busy_seconds(std::move(mass), request.drives);
  for (size_t d = 0; d < n; ++d) {
    forecast.seconds = std::max(forecast.seconds, seconds[d]);
    forecast.read_bytes.push_back(seconds[d] * request.drives[d].rate);
  }
  forecast.bound_seconds = bound_seconds(request);
  return forecast;
}

}  // namespace sluice::format
