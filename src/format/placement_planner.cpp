#include "format/placement_planner.h"

#include "base/check.h"
#include "format/placement.h"
#include "format/placement_dealer.h"
#include "format/placement_shares.h"

#include <algorithm>
#include <cmath>

namespace sluice::format {
namespace {

// Further room that drives need for so many copies; no drive can hold two of a piece.
uint64_t lacking_room(const PlacementRequest& request, uint64_t bytes) {
  const uint64_t needed = bytes * (request.survive + 1);
  uint64_t usable = 0;
  for (const PlannedDrive& drive : request.drives) usable += std::min(drive.room_bytes, bytes);
  return needed > usable ? needed - usable : 0;
}

PlacementPlan plan_used(const PlacementRequest& request) {
  const UseCurve curve(request.segments);
  PlacementPlan plan;
  plan.missing_bytes = lacking_room(request, static_cast<uint64_t>(curve.bytes()));
  if (plan.missing_bytes > 0) return plan;
  const std::vector<double> masses = least_busy_masses(curve, request.drives);
  PlacementDealer dealer(curve, request);
  plan.fits = dealer.deal_readers(read_shares(curve, request.drives, masses)) &&
              dealer.deal_copies(request.survive);
  if (!plan.fits) {
    plan.missing_bytes = dealer.missing_bytes();
    return plan;
  }
  if (request.spare_copies) dealer.deal_extras();
  plan.holders = dealer.holders();
  return plan;
}

}  // namespace

PlacementPlan plan_placement(const PlacementRequest& request) {
  SLUICE_CHECK(request.drives.size() <= kPlannedDrivesMax);
  SLUICE_CHECK(request.survive < Piece::kHoldersMax);
  for (const PlannedDrive& drive : request.drives) {
    SLUICE_CHECK(std::isfinite(drive.rate) && drive.rate > 0.0);
  }
  PlacementRequest used = request;
  std::vector<PlannedSegment> alike;
  if (std::ranges::all_of(request.segments, [](const auto& s) { return s.uses == 0.0; })) {
    alike.assign(request.segments.begin(), request.segments.end());
    for (PlannedSegment& segment : alike) segment.uses = 1.0;
    used.segments = alike;
  }
  PlacementPlan plan = plan_used(used);
  if (plan.fits) plan.forecast = forecast_placement(request, plan.holders);
  return plan;
}

}  // namespace sluice::format
