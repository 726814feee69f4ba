#include "model/placement_figures.h"

#include <algorithm>
#include <bit>

namespace sluice::model {

using format::DriveSet;
using format::VolumeSet;

std::vector<DriveSet> drive_holders(const format::PieceLayout& layout,
                                    std::span<const PlacedDrive> drives) {
  std::vector<VolumeSet> volumes_of;
  for (const PlacedDrive& drive : drives) {
    VolumeSet& volumes = volumes_of.emplace_back(0);
    for (const uint32_t v : drive.volumes) volumes |= VolumeSet{1} << v;
  }
  std::vector<DriveSet> out;
  for (const std::vector<VolumeSet>& shard : layout) {
    for (const VolumeSet volumes : shard) {
      DriveSet& holders = out.emplace_back(0);
      for (size_t d = 0; d < drives.size(); ++d) {
        if ((volumes & volumes_of[d]) != 0) holders |= DriveSet{1} << d;
      }
    }
  }
  return out;
}

PlacementFigures placement_figures(std::span<const PlacedDrive> drives,
                                   std::span<const format::PlannedSegment> segments,
                                   std::span<const DriveSet> holders) {
  const bool known = std::ranges::all_of(drives, [](const auto& d) { return d.rate > 0.0; });
  std::vector<format::PlannedDrive> planned;
  for (const PlacedDrive& drive : drives) {
    planned.push_back({.rate = known ? drive.rate : 1.0, .room_bytes = drive.room_bytes});
  }
  const format::PlacementForecast forecast =
      format::forecast_placement({.drives = planned, .segments = segments}, holders);
  PlacementFigures figures{.survives = forecast.survives};
  if (known) {
    figures.seconds = forecast.seconds;
    figures.bound_seconds = forecast.bound_seconds;
  }
  for (size_t d = 0; d < drives.size(); ++d) {
    figures.drives.push_back(
        {.stored_bytes = forecast.stored_bytes[d], .read_bytes = forecast.read_bytes[d]});
    figures.read_bytes += forecast.read_bytes[d];
  }
  size_t piece = 0;
  for (const format::PlannedSegment& segment : segments) {
    for (const uint32_t bytes : segment.piece_bytes) {
      const auto copies = static_cast<size_t>(std::popcount(holders[piece++]));
      figures.bytes_by_copies.resize(std::max(figures.bytes_by_copies.size(), copies + 1));
      figures.bytes_by_copies[copies] += bytes;
    }
  }
  return figures;
}

}  // namespace sluice::model
