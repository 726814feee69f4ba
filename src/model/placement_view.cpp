#include "model/placement_view.h"

#include "base/error.h"
#include "io/folder_probe.h"

#include <algorithm>
#include <utility>

namespace sluice::model {
namespace {

using format::ManifestVolume;
using format::PlacedVolume;
using format::VolumeSet;

class Viewer {
 public:
  explicit Viewer(const ViewRequest& request)
      : request_(request), model_(request.model, request.volumes) {
    view_.plan = format::read_placement_file(model_.folder);
  }

  PlacementView view() {
    check_labels();
    for (uint32_t v = 0; v < model_.manifest.volumes.size(); ++v) add_volume(v);
    const std::vector<format::PlannedSegment> segments =
        planned_segments(model_, segment_uses(model_, request_.uses));
    const format::PieceLayout layout = layout_by(model_.manifest.volumes);
    count_pieces(layout, segments);
    view_.figures = placement_figures(view_.drives, segments, drive_holders(layout, view_.drives));
    compare_with_plan();
    const auto notes = model_.checkpoint.storage().notes();
    view_.notes.assign(notes.begin(), notes.end());
    return std::move(view_);
  }

 private:
  void check_labels() const {
    for (const auto& [label, rate] : request_.rates) {
      if (std::ranges::find(model_.manifest.volumes, label, &ManifestVolume::label) !=
          model_.manifest.volumes.end()) {
        continue;
      }
      throw Error(ErrorCode::kInvalidInput, "--rate {}: the model has no volume of this name",
                  label);
    }
  }

  [[nodiscard]] const PlacedVolume* planned(format::VolumeId id) const {
    if (!view_.plan) return nullptr;
    const auto at = std::ranges::find(view_.plan->volumes, id, &PlacedVolume::id);
    return at == view_.plan->volumes.end() ? nullptr : &*at;
  }

  void add_volume(uint32_t v) {
    const ManifestVolume& known = model_.manifest.volumes[v];
    PlacementView::Volume& volume = view_.volumes.emplace_back();
    volume.label = known.label;
    volume.folder = known.folder;
    const format::Volume* found = model_.find_volume(known.id);
    if (found == nullptr) {
      for (const format::Volume& away : model_.checkpoint.storage().volumes()) {
        if (away.id == known.id) volume.trouble = away.trouble;
      }
      return;
    }
    volume.folder = found->folder;
    PlacedDrive& drive = drive_of(known, found->folder);
    drive.name += (drive.name.empty() ? "" : "+") + known.label;
    drive.volumes.push_back(v);
    drive.rate = std::max(drive.rate, rate_of(known, found->folder));
  }

  // As the last plan saw the volumes, so that both can be compared; else by device.
  PlacedDrive& drive_of(const ManifestVolume& known, const std::filesystem::path& folder) {
    const PlacedVolume* plan = planned(known.id);
    std::pair<bool, uint64_t> key{plan != nullptr, 0};
    key.second = plan != nullptr ? plan->drive : io::probe_folder(folder).device;
    const auto at = std::ranges::find(keys_, key);
    if (at != keys_.end() && !request_.separate) {
      return view_.drives[static_cast<size_t>(at - keys_.begin())];
    }
    keys_.push_back(key);
    return view_.drives.emplace_back();
  }

  [[nodiscard]] double rate_of(const ManifestVolume& known,
                               const std::filesystem::path& folder) const {
    const auto given = request_.rates.find(known.label);
    if (given != request_.rates.end()) return given->second;
    if (request_.measure) return io::measure_read_rate(folder);
    const PlacedVolume* plan = planned(known.id);
    return plan != nullptr ? static_cast<double>(plan->bytes_per_second) : 0.0;
  }

  template <class Volumes>
  [[nodiscard]] format::PieceLayout layout_by(const Volumes& volumes) const {
    std::vector<format::VolumeId> ids;
    for (const auto& volume : volumes) ids.push_back(volume.id);
    if (ids.size() > format::kPlacedVolumesMax) {
      throw Error(ErrorCode::kUnsupported, "{}: {} volumes; a placement can have {} at most",
                  (model_.folder / format::kManifestName).string(), ids.size(),
                  format::kPlacedVolumesMax);
    }
    return held_pieces(model_.layout, model_.checkpoint.storage(), ids);
  }

  void count_pieces(const format::PieceLayout& layout,
                    std::span<const format::PlannedSegment> segments) {
    std::vector<uint32_t> bytes;
    for (const format::PlannedSegment& segment : segments) {
      bytes.insert(bytes.end(), segment.piece_bytes.begin(), segment.piece_bytes.end());
    }
    auto piece = bytes.begin();
    for (const std::vector<VolumeSet>& shard : layout) {
      for (const VolumeSet holders : shard) {
        for (size_t v = 0; v < view_.volumes.size(); ++v) {
          if ((holders >> v & 1) == 0) continue;
          ++view_.volumes[v].pieces;
          view_.volumes[v].bytes += *piece;
        }
        ++piece;
      }
    }
  }

  void compare_with_plan() {
    view_.shards = static_cast<uint32_t>(model_.manifest.shards.size());
    if (!view_.plan) return;
    const format::PieceLayout now = layout_by(view_.plan->volumes);
    const format::PieceLayout& after = view_.plan->after.holders;
    for (size_t s = 0; s < std::min(now.size(), after.size()); ++s) {
      view_.shards_as_planned += now[s] == after[s] ? 1 : 0;
    }
  }

  const ViewRequest& request_;
  const PlacedModel model_;
  PlacementView view_;
  std::vector<std::pair<bool, uint64_t>> keys_;  // By drive.
};

}  // namespace

PlacementView view_placement(const ViewRequest& request) { return Viewer(request).view(); }

}  // namespace sluice::model
