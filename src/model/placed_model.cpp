#include "model/placed_model.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace sluice::model {
namespace {

namespace fs = std::filesystem;
using format::Manifest;
using format::VolumeSet;

fs::path existing(const fs::path& folder) {
  std::error_code error;
  fs::path found = fs::canonical(folder, error);
  if (!error && fs::is_directory(found, error)) return found;
  throw Error(ErrorCode::kNotFound, "MODEL: {} is not a folder; name the one with the manifest",
              folder.string());
}

Manifest require_packed(const fs::path& folder) {
  std::optional<Manifest> manifest = format::read_manifest(folder);
  if (!manifest) {
    throw Error(ErrorCode::kNotFound,
                "{}: has no {}: only packs can be placed; sluice pack comes first, and the folder "
                "that its --model names is the one to give here",
                folder.string(), format::kManifestName);
  }
  if (!manifest->conversion.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: not all shards are packed yet; run sluice pack again with {}, then place "
                "what it has packed",
                (folder / format::kManifestName).string(), manifest->conversion);
  }
  return std::move(*manifest);
}

std::vector<uint64_t> shard_sizes(const Manifest& manifest) {
  std::vector<uint64_t> bytes;
  for (const format::ManifestShard& shard : manifest.shards) bytes.push_back(shard.bytes);
  return bytes;
}

/// By file: the bit of its volume; 0 for those that do not count.
std::vector<VolumeSet> bits_of_files(const format::Storage& storage,
                                     std::span<const format::VolumeId> volumes) {
  std::vector<VolumeSet> bits;
  for (const format::StoredFile& file : storage.files()) {
    const std::optional<format::VolumeId>& id = storage.volumes()[file.volume].id;
    const auto at = id ? std::ranges::find(volumes, *id) : volumes.end();
    bits.push_back(at == volumes.end() ? 0 : VolumeSet{1} << (at - volumes.begin()));
  }
  return bits;
}

}  // namespace

PlacedModel::PlacedModel(const fs::path& model, const std::vector<fs::path>& more_volumes)
    : folder(existing(model)),
      manifest(require_packed(folder)),
      checkpoint(folder, more_volumes),
      shape(parse_shape(checkpoint.config_json(), (folder / "config.json").string())),
      weights(checkpoint, shape, panel_bytes_max(shape)),
      layout(weights, shard_sizes(manifest)) {}

const format::Volume* PlacedModel::find_volume(format::VolumeId id) const {
  for (const format::Volume& volume : checkpoint.storage().volumes()) {
    if (volume.id == id && volume.present()) return &volume;
  }
  return nullptr;
}

std::vector<std::string> PlacedModel::shard_names() const {
  std::vector<std::string> names;
  for (const format::ManifestShard& shard : manifest.shards) names.push_back(shard.name);
  return names;
}

format::PieceLayout held_pieces(const ShardLayout& layout, const format::Storage& storage,
                                std::span<const format::VolumeId> volumes) {
  const std::vector<VolumeSet> bits = bits_of_files(storage, volumes);
  format::PieceLayout out(storage.shards().size());
  std::vector<format::ShardSource> sources;
  for (uint16_t s = 0; s < out.size(); ++s) {
    for (const uint32_t index : layout.of_shard({s})) {
      for (const PackPiece& piece : layout.pieces(index, {s}, format::Codec::kRaw)) {
        const PieceBytes bytes = bytes_of(layout.segment(index), {s}, piece.cut);
        storage.find({s}, bytes.offset, sources);
        VolumeSet& holders = out[s].emplace_back(0);
        for (const format::ShardSource& source : sources) {
          if (source.piece_bytes == 0) continue;  // A shard in place.
          if (source.piece_bytes != piece.cut.bytes() || source.skip != bytes.skip) {
            throw Error(ErrorCode::kUnsupported,
                        "{}: is cut into pieces that this version does not make; pack the "
                        "checkpoint again",
                        storage.files()[source.holder.file.value].path.string());
          }
          holders |= bits[source.holder.file.value];
        }
      }
    }
  }
  return out;
}

}  // namespace sluice::model
