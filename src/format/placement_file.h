#pragma once
#include "format/ids.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::format {

/// In the model folder, beside the manifest.
inline constexpr std::string_view kPlacementFileName = "sluice-placement.json";

/// Volumes as bits: bit v is the volume with that place in a list.
using VolumeSet = uint32_t;
inline constexpr size_t kPlacedVolumesMax = 32;

/// Who holds each piece of a model: [shards][pieces], the pieces of a shard in the order of its
/// packs.
using PieceLayout = std::vector<std::vector<VolumeSet>>;

/// What becomes of a plan. While it is carried out, each shard lies as before or as after.
enum class PlacementState : uint8_t { kPlanned, kApplying, kApplied, kUndoing };

/// A volume that holds pieces before or after.
struct PlacedVolume {
  VolumeId id;
  std::string label;              ///< What the user calls it.
  std::string folder;             ///< Where it was when the plan was made.
  uint32_t drive = 0;             ///< The same for volumes that are read as one.
  uint64_t bytes_per_second = 0;  ///< That its drive reads, as the plan took it.
  friend bool operator==(const PlacedVolume&, const PlacedVolume&) = default;
};

/// One end of a plan.
struct PlacedLayout {
  PieceLayout holders;            ///< By PlacementFile::volumes.
  uint64_t bytes_per_second = 0;  ///< That all drives together read, as predicted.
  uint32_t survives = 0;          ///< How many lost drives are survived, whichever they are.
  friend bool operator==(const PlacedLayout&, const PlacedLayout&) = default;
};

/// A plan that moves pieces between volumes, and how far it has come.
struct PlacementFile {
  ModelId model;
  PlacementState state = PlacementState::kPlanned;
  std::string request;  ///< What was asked for, in words.
  std::vector<PlacedVolume> volumes{};
  /// A piece without holders was only in a shard in place; `after` has none.
  PlacedLayout before{};
  PlacedLayout after{};
  friend bool operator==(const PlacementFile&, const PlacementFile&) = default;
};

/// Throws Error that names `path` and the member: kCorrupt, and kUnsupported for a version or a
/// required feature that this build does not know.
[[nodiscard]] PlacementFile parse_placement_file(std::string_view json, const std::string& path);
/// What keeps it from being valid, naming the member; empty when nothing does.
[[nodiscard]] std::string trouble_of(const PlacementFile& placement);
/// What it describes must be valid (checked).
[[nodiscard]] std::string encode_placement_file(const PlacementFile& placement);

/// Nothing when the folder has no such file. Throws as the parser does, and Error(kIo).
[[nodiscard]] std::optional<PlacementFile> read_placement_file(const std::filesystem::path& folder);
/// Replaces the file as a whole; it is on the disk when this returns. Throws Error(kIo).
void write_placement_file(const std::filesystem::path& folder, const PlacementFile& placement);

}  // namespace sluice::format
