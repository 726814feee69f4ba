#include "model/placement_planning.h"

#include "base/error.h"
#include "format/placement_steady.h"
#include "io/folder_probe.h"
#include "model/placement_moving.h"
#include "model/placer.h"
#include "model/shard_writer.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using format::DriveSet;
using format::ManifestVolume;
using format::VolumeSet;
using stream::human_bytes;

constexpr uint64_t kKeepFreeMax = 20'000'000'000;
constexpr uint64_t kKeepFreePart = 20;

/// A volume that takes part: its bit is its place among them.
struct Member {
  format::VolumeId id;
  std::string label;
  fs::path folder;
  bool keeps = true;        // It may hold pieces afterwards.
  bool present = true;      // Only one that keeps nothing may be away.
  PackVolume disk{};        // Of one that is present.
  uint64_t room_bytes = 0;  // For pieces, those that it has included.
};

class ModelPlanner {
 public:
  explicit ModelPlanner(const PlanRequest& request)
      : request_(request), model_(request.model, request.volumes) {}

  PlannedPlacement plan() {
    check_labels();
    add_members();
    group_drives();
    set_rooms();
    const std::vector<double> uses = segment_uses(model_, request_.uses);
    segments_ = planned_segments(model_, uses);
    PlannedPlacement result;
    std::vector<format::VolumeId> ids;
    for (const Member& member : members_) ids.push_back(member.id);
    const format::PieceLayout now = held_pieces(model_.layout, model_.checkpoint.storage(), ids);
    const std::vector<DriveSet> now_drives = drive_holders(now, drives_);
    std::vector<DriveSet> planned = plan_drives();
    stay(now_drives, planned);
    fill_outlook(now_drives, planned, result.outlook);
    fill_file(now, choose_volumes(now, planned), result);
    return result;
  }

 private:
  [[nodiscard]] bool drained(const std::string& label) const {
    return std::ranges::find(request_.drained, label) != request_.drained.end();
  }
  [[nodiscard]] const PackTarget* target(const std::string& label) const {
    const auto at = std::ranges::find(request_.targets, label, &PackTarget::label);
    return at == request_.targets.end() ? nullptr : &*at;
  }
  [[nodiscard]] bool known(const std::string& label) const {
    const auto& volumes = model_.manifest.volumes;
    return std::ranges::find(volumes, label, &ManifestVolume::label) != volumes.end();
  }

  void check_labels() const {
    const auto require = [&](const char* option, const std::string& label, bool good) {
      if (good) return;
      std::vector<std::string> labels;
      for (const ManifestVolume& volume : model_.manifest.volumes) labels.push_back(volume.label);
      throw Error(ErrorCode::kInvalidInput,
                  "{} {}: the model has no volume of this name; it has {}", option, label,
                  fmt::join(labels, ", "));
    };
    for (const std::string& label : request_.drained) {
      require("--drain", label, known(label));
      if (target(label) == nullptr) continue;
      throw Error(ErrorCode::kInvalidInput, "--drain {0}: and --to {0} contradict; give one",
                  label);
    }
    for (const auto& [label, rate] : request_.rates) {
      require("--rate", label, known(label) || target(label) != nullptr);
    }
    for (const auto& [label, room] : request_.rooms) require("--room", label, known(label));
  }

  void add_members() {
    std::vector<PackTarget> targets;
    for (const ManifestVolume& volume : model_.manifest.volumes) {
      Member& member = members_.emplace_back(
          Member{.id = volume.id, .label = volume.label, .folder = volume.folder});
      member.keeps = !drained(volume.label);
      const format::Volume* found = model_.find_volume(volume.id);
      member.present = found != nullptr;
      if (member.present) targets.push_back(target_of(volume.label, found->folder));
      if (member.present || !member.keeps) continue;
      throw Error(ErrorCode::kNotFound,
                  "volume {} ({}) is missing, last seen at {}; attach it, name its folder with "
                  "--volume DIR, or plan without it: --drain {}",
                  volume.label, to_text(volume.id), volume.folder, volume.label);
    }
    for (const PackTarget& target : request_.targets) {
      if (!known(target.label)) targets.push_back(target_of(target.label, target.folder));
    }
    for (PackVolume& volume : open_pack_volumes(targets, model_.manifest)) add_disk(volume);
    if (members_.size() > format::kPlacedVolumesMax) {
      throw Error(ErrorCode::kUnsupported, "{} volumes; a placement can have {} at most",
                  members_.size(), format::kPlacedVolumesMax);
    }
    if (std::ranges::none_of(members_, &Member::keeps)) {
      throw Error(ErrorCode::kInvalidInput,
                  "--drain: no volume is left to hold the model; add one with --to NAME=DIR");
    }
  }

  [[nodiscard]] PackTarget target_of(const std::string& label, const fs::path& folder) const {
    const PackTarget* given = target(label);
    PackTarget out = given != nullptr ? *given : PackTarget{.label = label, .folder = folder};
    const auto room = request_.rooms.find(label);
    if (room != request_.rooms.end()) out.limit_bytes = room->second;
    const auto rate = request_.rates.find(label);
    if (rate != request_.rates.end()) out.rate = rate->second;
    return out;
  }

  void add_disk(PackVolume& volume) {
    auto member = std::ranges::find(members_, volume.file.id, &Member::id);
    if (member == members_.end()) {
      member = members_.insert(
          member, Member{.id = volume.file.id, .label = volume.file.label, .folder = {}});
    }
    member->folder = volume.folder;
    member->disk = std::move(volume);
  }

  // Those that may hold pieces come first: only these are planned with.
  void group_drives() {
    std::vector<uint64_t> devices;
    for (const bool keeps : {true, false}) {
      for (uint32_t m = 0; m < members_.size(); ++m) {
        if (members_[m].keeps == keeps) add_to_drive(m, devices);
      }
      if (keeps) kept_drives_ = drives_.size();
    }
    if (drives_.size() > format::kPlannedDrivesMax) {
      throw Error(ErrorCode::kUnsupported, "{} drives; a placement can have {} at most",
                  drives_.size(), format::kPlannedDrivesMax);
    }
    for (const PlacedDrive& drive : drives_) {
      if (drive.rate > 0.0 || !members_[drive.volumes.front()].present) continue;
      throw Error(ErrorCode::kIo,
                  "volume {0}: no reading speed could be measured, there is no room for a probe; "
                  "give it with --rate {0}=MB/s",
                  members_[drive.volumes.front()].label);
    }
  }

  void add_to_drive(uint32_t m, std::vector<uint64_t>& devices) {
    const Member& member = members_[m];
    const uint64_t device = member.disk.disk.device;
    const auto at = std::ranges::find(devices, device);
    const bool shares = member.present && !request_.separate && at != devices.end();
    const auto d = shares ? static_cast<size_t>(at - devices.begin()) : drives_.size();
    if (!shares) {
      drives_.emplace_back();
      devices.push_back(member.present ? device : UINT64_MAX);
    }
    PlacedDrive& drive = drives_[d];
    drive.name += (drive.name.empty() ? "" : "+") + member.label;
    drive.volumes.push_back(m);
    if (member.present) drive.rate = std::max(drive.rate, member.disk.rate);
  }

  [[nodiscard]] uint64_t keep_free(uint64_t free_bytes) const {
    return request_.keep_free.value_or(std::min(kKeepFreeMax, free_bytes / kKeepFreePart));
  }

  /// What packs take beyond their pieces.
  [[nodiscard]] uint64_t overhead_bytes() const {
    uint64_t bytes = 0;
    for (uint16_t s = 0; s < model_.manifest.shards.size(); ++s) {
      bytes += pack_need(model_.layout, {s}).overhead_bytes;
    }
    return bytes;
  }

  // Volumes on one disk have equal parts of what is free there, and what those that leave it free.
  void set_rooms() {
    const uint64_t overhead = overhead_bytes();
    for (Member& member : members_) {
      if (!member.keeps) continue;
      const uint64_t device = member.disk.disk.device;
      uint64_t spare = member.disk.disk.free_bytes, sharing = 0;
      for (const Member& other : members_) {
        if (!other.present || other.disk.disk.device != device) continue;
        spare = std::max(spare, other.disk.disk.free_bytes);
        sharing += other.keeps ? 1 : 0;
      }
      const uint64_t kept = keep_free(spare);
      for (const Member& other : members_) {
        const bool leaves = !other.keeps && other.present && other.disk.disk.device == device;
        if (leaves) spare += other.disk.held_bytes;
      }
      spare -= std::min(spare, kept);
      const uint64_t room =
          std::min(member.disk.limit_bytes, member.disk.held_bytes + spare / sharing);
      member.room_bytes = room - std::min(room, overhead);
    }
    for (PlacedDrive& drive : drives_) {
      for (const uint32_t m : drive.volumes) drive.room_bytes += members_[m].room_bytes;
    }
  }

  [[nodiscard]] std::vector<DriveSet> plan_drives() const {
    std::vector<format::PlannedDrive> drives;
    for (const PlacedDrive& drive : std::span(drives_).first(kept_drives_)) {
      drives.push_back({.rate = drive.rate, .room_bytes = drive.room_bytes});
    }
    if (request_.survive >= drives.size()) {
      throw Error(ErrorCode::kInvalidInput,
                  "--survive {}: needs more drives than that, and there are {}; volumes on one "
                  "device are one drive, and --separate counts each of them",
                  request_.survive, drives.size());
    }
    format::PlacementPlan plan = format::plan_placement({.drives = drives,
                                                         .segments = segments_,
                                                         .survive = request_.survive,
                                                         .spare_copies = request_.spare_copies});
    if (!plan.fits) refuse_room(plan.missing_bytes);
    return std::move(plan.holders);
  }

  [[noreturn]] void refuse_room(uint64_t missing) const {
    uint64_t bytes = 0;
    for (const format::PlannedSegment& segment : segments_) {
      for (const uint32_t piece : segment.piece_bytes) bytes += piece;
    }
    std::string lines;
    for (const Member& member : members_) {
      if (!member.keeps) continue;
      lines += fmt::format("\n  {} ({}): room for {}", member.label, member.folder.string(),
                           human_bytes(member.room_bytes));
    }
    throw Error(ErrorCode::kIo,
                "the pieces take {}{}, and at least {} are missing; make room, raise BYTES, keep "
                "less free with --keep-free, or add a volume with another --to{}",
                human_bytes(bytes * (1 + request_.survive)),
                request_.survive == 0 ? "" : fmt::format(" in {} copies", 1 + request_.survive),
                human_bytes(missing), lines);
  }

  void stay(std::span<const DriveSet> now, std::span<DriveSet> planned) const {
    for (const format::PlannedSegment& segment : segments_) {
      const size_t pieces = segment.piece_bytes.size();
      format::keep_in_place(segment.piece_bytes, now.first(pieces), planned.first(pieces));
      now = now.subspan(pieces);
      planned = planned.subspan(pieces);
    }
  }

  /// On a drive with several volumes a piece stays where it is, else goes where most room is.
  [[nodiscard]] format::PieceLayout choose_volumes(const format::PieceLayout& now,
                                                   std::span<const DriveSet> planned) const {
    std::vector<uint64_t> room;
    for (const Member& member : members_) room.push_back(member.room_bytes);
    const auto choose = [&](size_t d, VolumeSet holders, uint64_t bytes) {
      uint32_t best = drives_[d].volumes.front();
      for (const uint32_t v : drives_[d].volumes) {
        if (!members_[v].keeps) continue;
        if (room[v] > room[best] || !members_[best].keeps) best = v;
      }
      for (const uint32_t v : drives_[d].volumes) {
        if (members_[v].keeps && (holders >> v & 1) != 0 && room[v] >= bytes) best = v;
      }
      if (room[best] < bytes) refuse_room(bytes);
      room[best] -= bytes;
      return VolumeSet{1} << best;
    };
    format::PieceLayout out;
    auto set = planned.begin();
    auto segment = segments_.begin();
    size_t p = 0;
    for (const std::vector<VolumeSet>& shard : now) {
      std::vector<VolumeSet>& to = out.emplace_back();
      for (const VolumeSet holders : shard) {
        while (p == segment->piece_bytes.size()) {
          ++segment;
          p = 0;
        }
        VolumeSet& volumes = to.emplace_back(0);
        for (DriveSet drives = *set++; drives != 0; drives &= drives - 1) {
          const auto d = static_cast<size_t>(std::countr_zero(drives));
          volumes |= choose(d, holders, segment->piece_bytes[p]);
        }
        ++p;
      }
    }
    return out;
  }

  void fill_outlook(std::span<const DriveSet> now, std::span<const DriveSet> planned,
                    PlanOutlook& outlook) const {
    std::vector<PlacedDrive> drives = drives_;
    // One that is away holds nothing that counts, and its rate does not matter.
    for (PlacedDrive& drive : drives) {
      if (drive.rate == 0.0) drive.rate = 1.0;
    }
    outlook.now = placement_figures(drives, segments_, now);
    drives.resize(kept_drives_);
    outlook.then = placement_figures(drives, segments_, planned);
    outlook.then.drives.resize(drives_.size());
    outlook.drives = drives_;
    add_notes(outlook.notes);
  }

  void add_notes(std::vector<std::string>& notes) const {
    const format::Storage& storage = model_.checkpoint.storage();
    notes.assign(storage.notes().begin(), storage.notes().end());
    const auto in_place = std::ranges::count_if(
        storage.shards(), [](const format::StoredShard& shard) { return !shard.copies.empty(); });
    if (in_place > 0) {
      notes.push_back(fmt::format(
          "{} shards are also there as they were released; they stay, and the plan does not count "
          "with them",
          in_place));
    }
    for (const PlacedDrive& drive : drives_) {
      if (drive.volumes.size() < 2) continue;
      notes.push_back(
          fmt::format("{}: volumes on one device are one drive, read no faster than one of them "
                      "and lost together; where that is wrong, --separate counts each of them",
                      drive.name));
    }
  }

  void fill_file(const format::PieceLayout& now, format::PieceLayout planned,
                 PlannedPlacement& result) const {
    format::PlacementFile& file = result.file;
    file.model = model_.manifest.model;
    file.request = request_.words;
    for (const Member& member : members_) {
      file.volumes.push_back(
          {.id = member.id, .label = member.label, .folder = member.folder.string()});
    }
    for (uint32_t d = 0; d < drives_.size(); ++d) {
      for (const uint32_t v : drives_[d].volumes) {
        file.volumes[v].drive = d;
        file.volumes[v].bytes_per_second = static_cast<uint64_t>(drives_[d].rate);
      }
    }
    const auto fill = [](format::PlacedLayout& layout, const PlacementFigures& figures) {
      layout.bytes_per_second = static_cast<uint64_t>(figures.rate());
      layout.survives = figures.survives;
    };
    fill(file.before, result.outlook.now);
    fill(file.after, result.outlook.then);
    file.before.holders = now;
    file.after.holders = std::move(planned);
    count_bytes(file, result.outlook);
  }

  void count_bytes(const format::PlacementFile& file, PlanOutlook& outlook) const {
    auto segment = segments_.begin();
    size_t piece = 0;
    for (size_t s = 0; s < file.before.holders.size(); ++s) {
      const std::vector<VolumeSet>& before = file.before.holders[s];
      const std::vector<VolumeSet>& after = file.after.holders[s];
      const VolumeSet changed = changed_volumes(before, after);
      for (size_t p = 0; p < before.size(); ++p) {
        while (piece == segment->piece_bytes.size()) {
          ++segment;
          piece = 0;
        }
        const uint64_t bytes = segment->piece_bytes[piece++];
        outlook.moved_bytes += bytes * static_cast<uint64_t>(std::popcount(after[p] & ~before[p]));
        outlook.write_bytes += bytes * static_cast<uint64_t>(std::popcount(after[p] & changed));
      }
    }
  }

  const PlanRequest& request_;
  const PlacedModel model_;
  std::vector<Member> members_;
  std::vector<PlacedDrive> drives_;
  size_t kept_drives_ = 0;
  std::vector<format::PlannedSegment> segments_;
};

}  // namespace

PlannedPlacement plan_model_placement(const PlanRequest& request) {
  refuse_unfinished_placement(request.model);
  return ModelPlanner(request).plan();
}

}  // namespace sluice::model
