#pragma once
#include "format/checkpoint.h"
#include "format/manifest.h"
#include "format/placement_file.h"
#include "model/shape.h"
#include "model/shard_layout.h"
#include "model/weights.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::model {

/// A packed model that is opened to see, or to change, where its pieces lie. Immutable.
struct PlacedModel {
  /// `more_volumes`: folders to look in besides those that the manifest remembers. Throws Error
  /// when the model was never packed or not to its end, and as Checkpoint and WeightMap do.
  PlacedModel(const std::filesystem::path& model,
              const std::vector<std::filesystem::path>& more_volumes);

  /// Where a volume is; nothing (null) when it is not there.
  [[nodiscard]] const format::Volume* find_volume(format::VolumeId id) const;
  /// Names of the shards, in the order of their ids.
  [[nodiscard]] std::vector<std::string> shard_names() const;

  const std::filesystem::path folder;  ///< Absolute.
  const format::Manifest manifest;
  const format::Checkpoint checkpoint;
  const ModelShape shape;
  const WeightMap weights;
  const ShardLayout layout;
};

/// Who holds each piece in packs, as bits by the place in `volumes`; others do not count. Throws
/// Error(kUnsupported) that names a pack which is cut differently.
[[nodiscard]] format::PieceLayout held_pieces(const ShardLayout& layout,
                                              const format::Storage& storage,
                                              std::span<const format::VolumeId> volumes);

}  // namespace sluice::model
