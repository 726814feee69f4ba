#pragma once
#include "base/types.h"
#include "format/ids.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::format {

/// In the model folder, beside config.json.
inline constexpr std::string_view kManifestName = "sluice-manifest.json";
/// In the folder of a volume with packs, beside them.
inline constexpr std::string_view kVolumeFileName = "sluice-volume.json";

/// A released shard, whether or not the file still exists.
struct ManifestShard {
  std::string name;  ///< Of the file.
  uint64_t bytes = 0;
  std::string sha256;         ///< Of the whole file, 64 hexadecimal digits; empty: not known yet.
  std::string sha256_origin;  ///< Where that is from, in words; empty when it is not known.
  friend bool operator==(const ManifestShard&, const ManifestShard&) = default;
};

struct ManifestVolume {
  VolumeId id;
  std::string label;   ///< What the user calls it.
  std::string folder;  ///< Where it was when the manifest was written; only a hint.
  friend bool operator==(const ManifestVolume&, const ManifestVolume&) = default;
};

/// A finished pack: of one shard, on one volume.
struct ManifestPack {
  std::string file;  ///< Its name in the volume's folder.
  VolumeId volume;   ///< One of Manifest::volumes.
  ShardId shard;     ///< Place in Manifest::shards.
  uint64_t bytes = 0;
  uint64_t index_checksum = 0;  ///< As its header has it.
  friend bool operator==(const ManifestPack&, const ManifestPack&) = default;
};

/// What a model consists of, wherever its bytes lie.
struct Manifest {
  ModelId model;
  std::vector<ManifestShard> shards;  ///< Those of Checkpoint::files(), in that order.
  std::vector<ManifestVolume> volumes;
  std::vector<ManifestPack> packs;
  /// How the packs were asked for, in the packer's words, while shards are still to be packed;
  /// empty when all are.
  std::string conversion;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// What a volume with packs says of itself.
struct VolumeFile {
  VolumeId id;
  ModelId model;
  std::string label;
  friend bool operator==(const VolumeFile&, const VolumeFile&) = default;
};

/// Parse the two files. Throw Error that names `path` and the member: kCorrupt, and kUnsupported
/// for a version or a required feature that this build does not know.
[[nodiscard]] Manifest parse_manifest(std::string_view json, const std::string& path);
[[nodiscard]] VolumeFile parse_volume_file(std::string_view json, const std::string& path);

/// What keeps a manifest from being valid, naming the member; empty when nothing does.
[[nodiscard]] std::string trouble_of(const Manifest& manifest);

/// The two files as text. What they describe must be valid (checked).
[[nodiscard]] std::string encode_manifest(const Manifest& manifest);
[[nodiscard]] std::string encode_volume_file(const VolumeFile& volume);

/// Nothing when the folder has no such file. Throw as the parsers do, and Error(kIo).
[[nodiscard]] std::optional<Manifest> read_manifest(const std::filesystem::path& folder);
[[nodiscard]] std::optional<VolumeFile> read_volume_file(const std::filesystem::path& folder);

/// Replace the file as a whole; it is on the disk when they return. Throw Error(kIo).
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);
void write_volume_file(const std::filesystem::path& folder, const VolumeFile& volume);

/// Whether text can be the label of a volume: 1 to 64 bytes without blanks, control characters,
/// '=', ':' and '/', which end it on the command line.
[[nodiscard]] bool is_volume_label(std::string_view text);

}  // namespace sluice::format
