#include "model/packer.h"

#include "base/check.h"
#include "base/error.h"
#include "base/read_file.h"
#include "format/checkpoint.h"
#include "format/output_file.h"
#include "format/pack.h"
#include "format/piece_decoder.h"
#include "format/shard_check.h"
#include "io/input_file.h"
#include "model/pack_outlook.h"
#include "model/pack_writing.h"
#include "model/placer.h"
#include "model/shape.h"
#include "model/shard_layout.h"
#include "model/weights.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using format::Checkpoint;
using format::Manifest;

/// A request that can be right, with the names of its folders written out.
PackRequest checked(PackRequest request) {
  for (const auto& [what, folder] :
       {std::pair{"SRC", &request.source}, std::pair{"--model", &request.model}}) {
    std::error_code error;
    const fs::path found = fs::canonical(*folder, error);
    if (error || !fs::is_directory(found, error)) {
      throw Error(ErrorCode::kNotFound, "{}: {} is not a folder; make it first", what,
                  folder->string());
    }
    *folder = found;
  }
  if (request.copies > request.targets.size()) {
    throw Error(ErrorCode::kInvalidInput,
                "--copies {} needs that many volumes, and --to names {}: copies on one drive would "
                "be lost together",
                request.copies, request.targets.size());
  }
  if (request.codec == format::Codec::kZstd && !format::has_zstd()) {
    throw Error(ErrorCode::kUnsupported,
                "--codec scales: this build has no libzstd; install it (libzstd-dev) and build "
                "again, or choose --codec raw");
  }
  return request;
}

std::vector<fs::path> folders_of(const PackRequest& request) {
  std::vector<fs::path> folders = {request.model};
  for (const PackTarget& target : request.targets) {
    if (fs::is_directory(target.folder)) folders.push_back(target.folder);
  }
  return folders;
}

[[noreturn]] void refuse_other_model(const PackRequest& request) {
  throw Error(ErrorCode::kInvalidInput,
              "{}: is of another model than {}; name a folder of its own with --model",
              (request.model / format::kManifestName).string(), request.source.string());
}

std::string text_of(const fs::path& path) {
  constexpr uint64_t kBytesMax = 16u << 20;
  return read_file(path, kBytesMax).text;
}

/// Opens the checkpoint by its manifest where a run before has left one: shards may be gone by now.
Checkpoint open_checkpoint(const PackRequest& request, const std::optional<Manifest>& manifest) {
  if (!manifest) return Checkpoint(request.source);
  if (text_of(request.source / "config.json") != text_of(request.model / "config.json")) {
    refuse_other_model(request);
  }
  std::vector<fs::path> volumes;
  const auto has_shards = [&](const fs::path& folder) {
    return std::ranges::any_of(manifest->shards, [&](const format::ManifestShard& shard) {
      return fs::exists(folder / shard.name);
    });
  };
  if (request.source != request.model && has_shards(request.source)) {
    volumes.push_back(request.source);
  }
  for (const PackTarget& target : request.targets) {
    const std::optional<format::VolumeFile> file = format::read_volume_file(target.folder);
    const bool known =
        file && std::ranges::find(manifest->volumes, file->id, &format::ManifestVolume::id) !=
                    manifest->volumes.end();
    if (known) volumes.push_back(target.folder);
  }
  return Checkpoint(request.model, volumes);
}

/// What a run before has left.
std::optional<Manifest> read_found(const fs::path& model) {
  refuse_unfinished_placement(model);
  return format::read_manifest(model);
}

Manifest make_manifest(const Checkpoint& checkpoint) {
  Manifest manifest;
  manifest.model = {checkpoint.digest()};
  for (const format::CheckpointFile& file : checkpoint.files()) {
    manifest.shards.push_back({.name = file.path.filename().string(),
                               .bytes = file.bytes,
                               .sha256 = {},
                               .sha256_origin = {}});
  }
  return manifest;
}

/// How a conversion was asked for: what may not change unnoticed between two runs of it.
std::string words_of(const PackRequest& request) {
  std::string words = request.codec == format::Codec::kRaw ? "--codec raw" : "--codec scales";
  words += fmt::format(" --copies {}", request.copies);
  for (const PackTarget& target : request.targets) {
    words += " --to " + target.label;
    if (target.limit_bytes != UINT64_MAX) words += fmt::format(":{}", target.limit_bytes);
  }
  return words;
}

std::vector<uint64_t> sizes_of(const Manifest& manifest) {
  std::vector<uint64_t> bytes;
  for (const format::ManifestShard& shard : manifest.shards) bytes.push_back(shard.bytes);
  return bytes;
}

/// config.json, the index, the tokenizer: all files beside the shards that a model is opened with.
void copy_small_files(const fs::path& from, const fs::path& to) {
  constexpr uint64_t kFileBytesMax = 256u << 20;
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == format::kManifestName || name == format::kVolumeFileName ||
                      name == format::kPlacementFileName || name.ends_with(".slpack") ||
                      name.ends_with(".tmp");
    if (ours || name.front() == '.' || name.ends_with(".safetensors")) continue;
    if (!entry.is_regular_file() || entry.file_size() > kFileBytesMax) continue;
    const io::InputFile file(entry.path().string());
    std::vector<std::byte> bytes(file.bytes());
    file.read(0, bytes);
    format::OutputFile copy(to / name);
    copy.write(bytes);
    copy.commit();
  }
}

}  // namespace

struct Packer::Impl {
  explicit Impl(PackRequest asked)
      : request(checked(std::move(asked))),
        locks(lock_folders(folders_of(request))),
        found(read_found(request.model)),
        checkpoint(open_checkpoint(request, found)),
        shape(
            parse_shape(checkpoint.config_json(), (checkpoint.folder() / "config.json").string())),
        weights(checkpoint, shape, panel_bytes_max(shape)),
        manifest(found.value_or(make_manifest(checkpoint))),
        layout(weights, sizes_of(manifest)) {
    check_manifest();
    volumes = open_pack_volumes(request.targets, manifest);
    for (uint16_t s = 0; s < manifest.shards.size(); ++s) {
      const bool done = std::ranges::find(manifest.packs, ShardId{s},
                                          &format::ManifestPack::shard) != manifest.packs.end();
      (done ? packed : pending).push_back({s});
    }
    check_source();
    check_sums();
    plan.emplace(plan_packs({.manifest = manifest,
                             .layout = layout,
                             .volumes = volumes,
                             .pending = pending,
                             .copies = request.copies,
                             .source_device = io::probe_folder(request.source).device,
                             .reclaim = request.reclaim}));
    add_reclaimed();
  }

  void check_manifest() const {
    if (manifest.model.value != checkpoint.digest()) refuse_other_model(request);
    const std::string words = words_of(request);
    if (manifest.conversion.empty() || manifest.conversion == words || request.replan) return;
    throw Error(
        ErrorCode::kInvalidInput,
        "{}: an unfinished conversion was asked for as \"{}\", this one is \"{}\"; run it again as "
        "it was, or add --replan: what is packed stays, and the rest is packed as asked for now",
        (request.model / format::kManifestName).string(), manifest.conversion, words);
  }

  void check_sums() const {
    for (const ShardId shard : pending) {
      const std::string& name = manifest.shards[shard.value].name;
      if (!request.all_sums || request.sums.contains(name)) continue;
      throw Error(ErrorCode::kInvalidInput, "{}: has no sum for {}; add it, or leave --sha256 out",
                  request.sums_origin, name);
    }
  }

  // Before anything is written: every shard that is still to be packed is there in full.
  void check_source() const {
    for (const ShardId shard : pending) {
      const format::ManifestShard& known = manifest.shards[shard.value];
      std::error_code error;
      const uint64_t bytes = fs::file_size(source_of(shard), error);
      if (!error && bytes == known.bytes) continue;
      throw Error(
          error ? ErrorCode::kNotFound : ErrorCode::kCorrupt,
          "{}: {}; it is in no pack yet: fetch it, then run the same command again",
          source_of(shard).string(),
          error ? "does not exist" : fmt::format("has {} bytes instead of {}", bytes, known.bytes));
    }
  }

  [[nodiscard]] fs::path source_of(ShardId shard) const {
    return request.source / manifest.shards[shard.value].name;
  }

  void add_reclaimed() {
    if (!request.reclaim) return;
    for (uint16_t s = 0; s < manifest.shards.size(); ++s) {
      if (!fs::exists(source_of({s}))) continue;
      if (fs::is_symlink(source_of({s}))) {
        throw Error(ErrorCode::kInvalidInput,
                    "{}: is a link, and deleting it would free nothing; --reclaim needs the folder "
                    "with the files themselves as SRC",
                    source_of({s}).string());
      }
      plan->outlook.reclaimed.push_back(source_of({s}));
      plan->outlook.reclaimed_bytes += manifest.shards[s].bytes;
    }
  }

  // From here on another run can go on.
  void begin() {
    if (request.source != request.model) copy_small_files(request.source, request.model);
    for (PackVolume& volume : volumes) {
      if (volume.fresh) {
        format::write_volume_file(volume.folder, volume.file);
      } else {
        for (const fs::path& file : leftovers(volume.folder, volume.file.id, manifest)) {
          fs::remove(file);
        }
      }
      const auto known =
          std::ranges::find(manifest.volumes, volume.file.id, &format::ManifestVolume::id);
      if (known == manifest.volumes.end()) {
        manifest.volumes.push_back(
            {.id = volume.file.id, .label = volume.file.label, .folder = volume.folder.string()});
      } else {
        known->folder = volume.folder.string();
      }
    }
    manifest.conversion = pending.empty() ? "" : words_of(request);
    format::write_manifest(request.model, manifest);
  }

  void pack(ShardId shard, format::PieceDealer& dealer, const PackWatch& watch,
            const std::atomic<bool>& stop) {
    format::ManifestShard& known = manifest.shards[shard.value];
    const auto sum = request.sums.find(known.name);
    const bool has_sum = sum != request.sums.end();
    const ShardJob job{.shard = shard,
                       .name = known.name,
                       .source = source_of(shard),
                       .bytes = known.bytes,
                       .codec = request.codec,
                       .sha256 = has_sum ? sum->second : known.sha256,
                       .sha256_origin = has_sum ? request.sums_origin : known.sha256_origin};
    ShardPacks packs = write_shard_packs(job, layout, dealer, volumes, watch.read, stop);
    known.sha256 = packs.sha256;
    known.sha256_origin = job.sha256.empty() ? "computed when it was packed" : job.sha256_origin;
    std::ranges::move(packs.written.packs, std::back_inserter(manifest.packs));
    if (shard == pending.back()) manifest.conversion.clear();
    format::write_manifest(request.model, manifest);
    if (watch.packed) {
      watch.packed({.name = known.name,
                    .bytes = known.bytes,
                    .stored_bytes = packs.written.stored_bytes,
                    .sha256 = packs.sha256,
                    .compared = !job.sha256.empty()});
    }
  }

  // The packs must give back the whole shard as it was, read anew from the drives.
  void reclaim(ShardId shard, const PackWatch& watch) const {
    if (!request.reclaim || !fs::exists(source_of(shard))) return;
    std::vector<std::string> names;
    for (const format::ManifestShard& known : manifest.shards) names.push_back(known.name);
    std::vector<fs::path> places;
    if (request.source != request.model) places.push_back(request.source);
    for (const PackVolume& volume : volumes) places.push_back(volume.folder);
    const format::Storage storage({.places = {.folder = request.model, .volumes = places},
                                   .shards = std::move(names),
                                   .manifest = manifest});
    const format::ShardCheck check =
        check_shard(storage, shard, format::CheckScope::kPacks, nullptr);
    if (!check.good() || check.sha256 != manifest.shards[shard.value].sha256) {
      throw Error(ErrorCode::kCorrupt,
                  "{}: is not deleted, because its packs do not give it back: {}; sluice pack "
                  "--verify {} names all that is damaged",
                  source_of(shard).string(),
                  check.good() ? "the SHA-256 is another" : check.troubles.front(),
                  request.model.string());
    }
    fs::remove(source_of(shard));
    if (watch.reclaimed) watch.reclaimed(source_of(shard));
  }

  const PackRequest request;
  const std::vector<io::FolderLock> locks;
  const std::optional<Manifest> found;  // What a run before has left.
  const Checkpoint checkpoint;
  const ModelShape shape;
  const WeightMap weights;
  Manifest manifest;
  const ShardLayout layout;
  std::vector<PackVolume> volumes;
  std::vector<ShardId> packed, pending;
  std::optional<PackPlan> plan;  // Once all that it depends on is known.
};

Packer::Packer(PackRequest request) : impl_(std::make_unique<Impl>(std::move(request))) {}
Packer::~Packer() = default;

const PackOutlook& Packer::outlook() const { return impl_->plan->outlook; }

void Packer::run(const PackWatch& watch, const std::atomic<bool>& stop) {
  impl_->begin();
  for (const ShardId shard : impl_->packed) impl_->reclaim(shard, watch);
  format::PieceDealer dealer = impl_->plan->dealer;
  for (const ShardId shard : impl_->pending) {
    impl_->pack(shard, dealer, watch, stop);
    impl_->reclaim(shard, watch);
  }
}

}  // namespace sluice::model
