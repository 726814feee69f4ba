#pragma once
#include "format/manifest.h"
#include "format/pack_writer.h"
#include "model/shard_layout.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::model {

/// A pack that a shard may get.
struct PackDestination {
  std::filesystem::path folder;
  std::string file;  ///< Its name there.
  format::PackFacts facts;
};

/// What writing the packs of a shard came to.
struct WrittenPacks {
  uint64_t stored_bytes = 0;  ///< Of all pieces.
  std::vector<format::ManifestPack> packs;
};

/// The most that a pack takes of its disk.
struct PackNeed {
  uint64_t piece_bytes = 0;     ///< Of all pieces of the shard, as they are in memory.
  uint64_t overhead_bytes = 0;  ///< Of a pack that has something of every segment.
};
[[nodiscard]] PackNeed pack_need(const ShardLayout& layout, ShardId shard);

/// Writes the packs of one shard together, segment by segment. One thread.
class ShardWriter {
 public:
  /// Fills bytes of the shard from `offset` on. Throws Error.
  using ReadShard = std::function<void(uint64_t offset, std::span<std::byte> into)>;

  explicit ShardWriter(std::vector<PackDestination> destinations);

  /// `pieces`: those of the segment in this shard; where a codec is named it is tried. `holders`:
  /// [pieces], the destinations of each, which may be none. Throws Error as ReadShard and
  /// PackWriter do.
  void add_segment(const format::Segment& segment, std::span<const PackPiece> pieces,
                   std::span<const std::vector<uint32_t>> holders, const ReadShard& read);

  /// Verifies all packs, and gives them their names. Those that got nothing do not exist. Throws
  /// Error(kCorrupt), Error(kIo).
  [[nodiscard]] WrittenPacks finish();

 private:
  format::PackWriter& writer(uint32_t destination);

  const std::vector<PackDestination> destinations_;
  std::vector<std::unique_ptr<format::PackWriter>> writers_;  // Null where nothing lies.
  std::vector<std::byte> piece_;
};

}  // namespace sluice::model
