#include "model/placer.h"

#include "base/error.h"
#include "format/pack.h"
#include "format/pack_plan.h"
#include "io/folder_lock.h"
#include "io/folder_probe.h"
#include "model/pack_volumes.h"
#include "model/placed_model.h"
#include "model/placement_moving.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using format::Manifest;
using format::ManifestPack;
using format::ManifestVolume;
using format::PlacementFile;
using format::PlacementState;
using format::VolumeSet;
using stream::human_bytes;

const char* command_of(PlaceDirection direction) {
  return direction == PlaceDirection::kApply ? "sluice place apply" : "sluice place undo";
}

/// The plan of a model, which must have something to do in this direction.
PlacementFile require_plan(const PlaceRequest& request) {
  std::optional<PlacementFile> plan = format::read_placement_file(request.model);
  if (!plan) {
    throw Error(ErrorCode::kNotFound, "{}: there is no plan; make one with sluice place plan",
                (request.model / format::kPlacementFileName).string());
  }
  const bool apply = request.direction == PlaceDirection::kApply;
  if (plan->state == (apply ? PlacementState::kApplied : PlacementState::kPlanned)) {
    throw Error(ErrorCode::kInvalidInput, "{}: {}",
                (request.model / format::kPlacementFileName).string(),
                apply ? "the plan has been applied; nothing is left to do, and sluice place undo "
                        "would take it back"
                      : "the plan is not applied, so there is nothing to undo");
  }
  return std::move(*plan);
}

/// A piece that only a shard in place had stays where it is now.
format::PieceLayout wanted_of(const PlacementFile& plan, PlaceDirection direction) {
  if (direction == PlaceDirection::kApply) return plan.after.holders;
  format::PieceLayout wanted = plan.before.holders;
  for (size_t s = 0; s < wanted.size(); ++s) {
    for (size_t p = 0; p < wanted[s].size(); ++p) {
      if (wanted[s][p] == 0) wanted[s][p] = plan.after.holders[s][p];
    }
  }
  return wanted;
}

std::vector<format::VolumeId> ids_of(const PlacementFile& plan) {
  std::vector<format::VolumeId> ids;
  for (const format::PlacedVolume& volume : plan.volumes) ids.push_back(volume.id);
  return ids;
}

const ManifestPack* find_pack(const Manifest& manifest, format::VolumeId volume, ShardId shard) {
  for (const ManifestPack& pack : manifest.packs) {
    if (pack.volume == volume && pack.shard == shard) return &pack;
  }
  return nullptr;
}

/// A name that no pack of the volume has.
std::string new_pack_name(const Manifest& manifest, format::VolumeId volume, ShardId shard) {
  std::set<std::string_view> taken;
  for (const ManifestPack& pack : manifest.packs) {
    if (pack.volume == volume) taken.insert(pack.file);
  }
  for (uint32_t generation = 1;; ++generation) {
    std::string name = format::pack_file_name(manifest.shards[shard.value].name, generation);
    if (!taken.contains(name)) return name;
  }
}

}  // namespace

struct Placer::Impl {
  explicit Impl(const PlaceRequest& asked)
      : request(asked),
        model_lock(request.model),
        plan(require_plan(request)),
        wanted(wanted_of(plan, request.direction)),
        model(request.model, request.volumes),
        manifest(model.manifest) {
    check_plan();
    locate_volumes();
    std::vector<fs::path> others = folders;
    std::erase_if(others, [&](const fs::path& f) { return f.empty() || f == model.folder; });
    locks = lock_folders(std::move(others));
    now = held_pieces(model.layout, model.checkpoint.storage(), ids_of(plan));
    check_pieces();
    look_ahead();
  }

  [[noreturn]] void refuse_plan(std::string_view why) const {
    std::string notes;
    for (const std::string& note : model.checkpoint.storage().notes()) notes += ". " + note;
    throw Error(ErrorCode::kInvalidInput, "{}: {}; make a new plan with sluice place plan{}",
                (model.folder / format::kPlacementFileName).string(), why, notes);
  }

  void check_plan() const {
    if (plan.model != manifest.model) refuse_plan("the plan is of another model");
    bool same = wanted.size() == manifest.shards.size();
    for (uint16_t s = 0; same && s < wanted.size(); ++s) {
      size_t pieces = 0;
      for (const uint32_t index : model.layout.of_shard({s})) {
        pieces += model.layout.pieces(index, {s}, format::Codec::kRaw).size();
      }
      same = pieces == wanted[s].size();
    }
    if (!same) refuse_plan("the plan has other shards or pieces than the model");
  }

  [[nodiscard]] VolumeSet used_volumes() const {
    VolumeSet volumes = 0;
    for (const auto& shard : wanted) {
      for (const VolumeSet holders : shard) volumes |= holders;
    }
    return volumes;
  }

  // Those that shall hold something must be there; one that the model has left, or not yet joined,
  // is where it was when the plan was made.
  void locate_volumes() {
    used = used_volumes();
    for (size_t v = 0; v < plan.volumes.size(); ++v) {
      const format::PlacedVolume& volume = plan.volumes[v];
      fs::path& folder = folders.emplace_back();
      if (const format::Volume* found = model.find_volume(volume.id); found != nullptr) {
        folder = fs::canonical(found->folder);
        continue;
      }
      const bool member = std::ranges::find(manifest.volumes, volume.id, &ManifestVolume::id) !=
                          manifest.volumes.end();
      std::error_code error;
      const fs::path hint = fs::canonical(volume.folder, error);
      if (!member && !error && fs::is_directory(hint, error)) {
        const std::optional<format::VolumeFile> file = format::read_volume_file(hint);
        if (!file || file->id == volume.id) folder = hint;
      }
      if (folder.empty() && (used >> v & 1) != 0) {
        throw Error(ErrorCode::kNotFound,
                    "volume {} ({}) is not at {}; attach its drive there{}, or make a new plan "
                    "without it",
                    volume.label, to_text(volume.id), volume.folder,
                    member ? ", or name its folder with --volume DIR" : "");
      }
    }
  }

  void check_pieces() const {
    const format::Storage& storage = model.checkpoint.storage();
    for (uint16_t s = 0; s < manifest.shards.size(); ++s) {
      if (storage.has_all({s}, 0, manifest.shards[s].bytes)) continue;
      throw Error(ErrorCode::kNotFound, "{}: some of its bytes are in no file that is here{}",
                  manifest.shards[s].name, storage.missing_text());
    }
    if (plan.state == PlacementState::kPlanned && now != plan.before.holders) {
      refuse_plan("the packs are no longer those that the plan was made for");
    }
  }

  [[nodiscard]] VolumeSet changed(ShardId shard) const {
    return changed_volumes(now[shard.value], wanted[shard.value]);
  }

  [[nodiscard]] std::vector<PackDestination> destinations(ShardId shard) const {
    std::vector<PackDestination> out;
    for (size_t v = 0; v < plan.volumes.size(); ++v) {
      const format::VolumeId id = plan.volumes[v].id;
      out.push_back({.folder = folders[v],
                     .file = new_pack_name(manifest, id, shard),
                     .facts = {.model = plan.model, .volume = id, .shard = shard}});
    }
    return out;
  }

  [[nodiscard]] MoveJob job_of(ShardId shard, VolumeSet volumes,
                               std::span<const PackDestination> to) const {
    return {.storage = model.checkpoint.storage(),
            .layout = model.layout,
            .shard = shard,
            .wanted = wanted[shard.value],
            .changed = volumes,
            .destinations = to};
  }

  // What will be done, and whether the disks have room for it at every moment.
  void look_ahead() {
    format::PackSteps steps;
    std::map<uint64_t, uint32_t> devices;
    std::vector<uint32_t> device_of;
    for (size_t v = 0; v < folders.size(); ++v) {
      outlook.volumes.push_back(
          {.label = plan.volumes[v].label, .folder = folders[v], .leaves = (used >> v & 1) == 0});
      if (folders[v].empty()) {
        device_of.push_back(UINT32_MAX);
        continue;
      }
      const io::FolderFacts disk = io::probe_folder(folders[v]);
      const auto [at, added] =
          devices.try_emplace(disk.device, static_cast<uint32_t>(devices.size()));
      if (added) steps.free_bytes.push_back(disk.free_bytes);
      device_of.push_back(at->second);
      for (const fs::path& file : leftovers_of(v)) {
        steps.free_bytes[at->second] += allocated_bytes(file);
      }
    }
    outlook.shards = static_cast<uint32_t>(manifest.shards.size());
    for (uint16_t s = 0; s < manifest.shards.size(); ++s) add_step({s}, device_of, steps);
    check_room(std::move(steps), device_of);
  }

  void add_step(ShardId shard, const std::vector<uint32_t>& device_of, format::PackSteps& steps) {
    const VolumeSet volumes = changed(shard);
    if (volumes == 0) ++outlook.shards_done;
    const uint64_t overhead = pack_need(model.layout, shard).overhead_bytes;
    std::vector<uint64_t>& packs = steps.pack_bytes.emplace_back(device_of.size());
    std::vector<uint64_t>& freed = steps.freed_bytes.emplace_back(steps.free_bytes.size());
    for (size_t v = 0; v < device_of.size(); ++v) {
      if ((volumes >> v & 1) == 0) continue;
      const uint64_t bytes = bytes_to_write(job_of(shard, VolumeSet{1} << v, {}));
      packs[v] = bytes == 0 ? 0 : bytes + overhead;
      outlook.volumes[v].write_bytes += bytes;
      outlook.volumes[v].packs += bytes == 0 ? 0 : 1;
      outlook.write_bytes += bytes;
      const ManifestPack* old = find_pack(manifest, plan.volumes[v].id, shard);
      if (old == nullptr || device_of[v] == UINT32_MAX) continue;
      freed[device_of[v]] += allocated_bytes(folders[v] / old->file);
    }
  }

  void check_room(format::PackSteps steps, std::vector<uint32_t> device_of) const {
    // A volume that is away gets nothing, so that any device will do for it.
    for (uint32_t& device : device_of) {
      if (device == UINT32_MAX) device = 0;
    }
    steps.device = device_of;
    const std::vector<uint64_t> missing = format::missing_bytes(steps);
    std::string lines;
    for (size_t v = 0; v < folders.size(); ++v) {
      if (folders[v].empty() || missing[device_of[v]] == 0) continue;
      lines += fmt::format("\n  {} ({}): {} are missing on its disk", plan.volumes[v].label,
                           folders[v].string(), human_bytes(missing[device_of[v]]));
    }
    if (lines.empty()) return;
    throw Error(ErrorCode::kIo,
                "the old and the new packs of a shard do not fit the disk at the same time; make "
                "room there, then run {} again, or make a new plan{}",
                command_of(request.direction), lines);
  }

  [[nodiscard]] std::vector<fs::path> leftovers_of(size_t v) const {
    if (folders[v].empty() || !format::read_volume_file(folders[v])) return {};
    return leftovers(folders[v], plan.volumes[v].id, manifest);
  }

  void set_state(PlacementState state) {
    plan.state = state;
    format::write_placement_file(model.folder, plan);
  }

  // From here on another run can go on, in either direction.
  void begin() {
    for (size_t v = 0; v < folders.size(); ++v) {
      if (!folders[v].empty()) plan.volumes[v].folder = folders[v].string();
    }
    set_state(request.direction == PlaceDirection::kApply ? PlacementState::kApplying
                                                          : PlacementState::kUndoing);
    for (size_t v = 0; v < folders.size(); ++v) {
      for (const fs::path& file : leftovers_of(v)) fs::remove(file);
      if ((used >> v & 1) != 0) join(plan.volumes[v], folders[v]);
    }
    format::write_manifest(model.folder, manifest);
  }

  void join(const format::PlacedVolume& volume, const fs::path& folder) {
    const auto known = std::ranges::find(manifest.volumes, volume.id, &ManifestVolume::id);
    if (known != manifest.volumes.end()) {
      known->folder = folder.string();
      return;
    }
    if (!format::read_volume_file(folder)) {
      format::write_volume_file(folder,
                                {.id = volume.id, .model = plan.model, .label = volume.label});
    }
    manifest.volumes.push_back({.id = volume.id, .label = volume.label, .folder = folder.string()});
  }

  void move(ShardId shard, const PlaceWatch& watch, const std::atomic<bool>& stop) {
    const VolumeSet volumes = changed(shard);
    if (volumes == 0) return;
    const std::vector<PackDestination> to = destinations(shard);
    WrittenPacks written = write_moved_packs(job_of(shard, volumes, to), watch.written, stop);
    std::vector<fs::path> old;
    for (size_t v = 0; v < folders.size(); ++v) {
      if ((volumes >> v & 1) == 0) continue;
      const ManifestPack* pack = find_pack(manifest, plan.volumes[v].id, shard);
      if (pack == nullptr) continue;
      if (!folders[v].empty()) old.push_back(folders[v] / pack->file);
      manifest.packs.erase(manifest.packs.begin() + (pack - manifest.packs.data()));
    }
    std::ranges::move(written.packs, std::back_inserter(manifest.packs));
    std::ranges::sort(manifest.packs, {},
                      [](const ManifestPack& pack) { return std::pair(pack.shard, pack.volume); });
    format::write_manifest(model.folder, manifest);
    for (const fs::path& file : old) fs::remove(file);
    if (watch.moved) {
      watch.moved({.name = manifest.shards[shard.value].name,
                   .stored_bytes = written.stored_bytes,
                   .packs = static_cast<uint32_t>(written.packs.size())});
    }
  }

  // Every pack was read back when it was written; what is left to prove is that the packs which the
  // manifest names now hold each piece.
  void verify() const {
    std::vector<fs::path> places = request.volumes;
    for (size_t v = 0; v < folders.size(); ++v) {
      if ((used >> v & 1) != 0) places.push_back(folders[v]);
    }
    const format::Storage storage({.places = {.folder = model.folder, .volumes = places},
                                   .shards = model.shard_names(),
                                   .manifest = manifest});
    if (held_pieces(model.layout, storage, ids_of(plan)) == wanted) return;
    throw Error(ErrorCode::kCorrupt,
                "{}: the packs do not hold what was planned; run {} again, and sluice pack "
                "--verify {} to see what is damaged{}",
                (model.folder / format::kManifestName).string(), command_of(request.direction),
                model.folder.string(), storage.missing_text());
  }

  // A volume without pieces is no longer one of the model; its folder is as it was before.
  void finish() {
    std::erase_if(manifest.packs, [&](const ManifestPack& pack) { return leaves(pack.volume); });
    std::erase_if(manifest.volumes, [&](const ManifestVolume& v) { return leaves(v.id); });
    format::write_manifest(model.folder, manifest);
    for (size_t v = 0; v < folders.size(); ++v) {
      if ((used >> v & 1) != 0 || folders[v].empty()) continue;
      for (const fs::path& file : leftovers_of(v)) fs::remove(file);
      fs::remove(folders[v] / format::kVolumeFileName);
    }
    set_state(request.direction == PlaceDirection::kApply ? PlacementState::kApplied
                                                          : PlacementState::kPlanned);
  }

  [[nodiscard]] bool leaves(format::VolumeId id) const {
    const auto at = std::ranges::find(plan.volumes, id, &format::PlacedVolume::id);
    return at != plan.volumes.end() && (used >> (at - plan.volumes.begin()) & 1) == 0;
  }

  const PlaceRequest request;
  const io::FolderLock model_lock;
  PlacementFile plan;
  const format::PieceLayout wanted;
  const PlacedModel model;
  Manifest manifest;              // As it is on the disk.
  VolumeSet used = 0;             // Volumes that shall hold something.
  std::vector<fs::path> folders;  // By volume of the plan; empty where it is away.
  std::vector<io::FolderLock> locks;
  format::PieceLayout now;  // When this began.
  PlaceOutlook outlook;
};

Placer::Placer(const PlaceRequest& request) : impl_(std::make_unique<Impl>(request)) {}
Placer::~Placer() = default;

const PlaceOutlook& Placer::outlook() const { return impl_->outlook; }

void Placer::run(const PlaceWatch& watch, const std::atomic<bool>& stop) {
  impl_->begin();
  for (uint16_t s = 0; s < impl_->manifest.shards.size(); ++s) impl_->move({s}, watch, stop);
  impl_->verify();
  impl_->finish();
}

void refuse_unfinished_placement(const fs::path& model) {
  const std::optional<PlacementFile> plan = format::read_placement_file(model);
  const bool applying = plan && plan->state == PlacementState::kApplying;
  if (!applying && (!plan || plan->state != PlacementState::kUndoing)) return;
  throw Error(ErrorCode::kInvalidInput,
              "{}: sluice place {} was stopped half-way; run sluice place apply {} or sluice place "
              "undo {} first",
              (model / format::kPlacementFileName).string(), applying ? "apply" : "undo",
              model.string(), model.string());
}

}  // namespace sluice::model
