#pragma once
#include "format/manifest.h"
#include "format/pack.h"
#include "format/placement.h"
#include "format/volumes.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// A file that reads come from: a copy of a shard, or a pack.
struct StoredFile {
  std::filesystem::path path;
  uint32_t volume = 0;  ///< Index into Storage::volumes().
  uint64_t bytes = 0;
};

/// A released shard, wherever its bytes lie.
struct StoredShard {
  std::string name;  ///< Of the file.
  uint64_t bytes = 0;
  std::vector<FileId> copies;  ///< Files that are complete copies of it.
};

/// Someone who has bytes of a shard.
struct ShardSource {
  Holder holder;             ///< Of the bytes themselves, or of the piece that they are in.
  uint64_t piece_bytes = 0;  ///< 0: the holder is a shard and has the bytes as they are.
  uint64_t skip = 0;         ///< Bytes of the piece in front of those wanted.
  uint64_t bytes = 0;        ///< Of those wanted, from the first on.
};

struct StorageOptions {
  ModelPlaces places;
  std::vector<std::string> shards;  ///< Names of the files, in the order of their ids.
  std::optional<Manifest> manifest;
};

/// Which files have the bytes of a model's shards: shards in place, packs, or both, on one volume
/// or several. Opens nothing for longer than it needs to learn that.
class Storage {
 public:
  /// Looks through all volumes. What cannot be used (a volume that is missing, a pack that is
  /// damaged, a copy of a shard that is still growing) is left out and named by notes(). Throws
  /// Error that names files and remedy: as find_volumes() does, kNotFound when shards have no file
  /// at all, kCorrupt when a copy of a shard is longer than the others.
  explicit Storage(StorageOptions options);

  [[nodiscard]] std::span<const StoredShard> shards() const { return shards_; }
  [[nodiscard]] std::span<const Volume> volumes() const { return volumes_; }
  /// In the order of their FileIds: by volume, shards before packs.
  [[nodiscard]] std::span<const StoredFile> files() const { return files_; }
  [[nodiscard]] const std::optional<Manifest>& manifest() const { return options_.manifest; }
  /// What was left out and why, each a sentence.
  [[nodiscard]] std::span<const std::string> notes() const { return notes_; }
  /// The file that messages about a shard name: a copy of it, else a pack with its bytes.
  [[nodiscard]] const std::filesystem::path& path(ShardId shard) const;
  /// Ends a message about bytes that nobody has: the missing volumes, what was left out, and the
  /// remedy.
  [[nodiscard]] std::string missing_text() const;

  /// Makes sure that all copies of a shard begin with `header`, what is in front of its data.
  /// Throws Error(kCorrupt) that names the two files which differ.
  void check_header(ShardId shard, std::span<const std::byte> header) const;

  /// Who has the byte of a shard at `offset`, those with checksums first.
  void find(ShardId shard, uint64_t offset, std::vector<ShardSource>& out) const;

  /// Whether somebody has each of the bytes.
  [[nodiscard]] bool has_all(ShardId shard, uint64_t offset, uint64_t bytes) const;

  /// Hands over the pieces of spine panels and experts, which find() then no longer knows: there
  /// are millions of them. `segments`: those of the model, by id. Throws Error(kUnsupported) that
  /// names a pack whose segments are not among them.
  [[nodiscard]] PlacementParts take_parts(std::vector<Segment> segments);

 private:
  struct StoredPack {
    FileId file;
    std::vector<StoredSegment> segments;
  };
  /// Where an extent of a packed segment lies in its shard.
  struct PackedRange {
    uint64_t begin = 0, end = 0;  // Bytes of the shard.
    uint32_t pack = 0, segment = 0, extent = 0;
  };

  /// A file with the name of a shard.
  struct Copy {
    uint32_t volume = 0;
    ShardId shard;
    std::filesystem::path path;
    uint64_t bytes = 0;
  };

  [[nodiscard]] std::vector<Copy> find_copies() const;
  void check_manifest() const;
  void set_sizes(std::span<const Copy> copies);
  void add_copies(std::span<const Copy> copies, uint32_t volume);
  void add_packs(uint32_t volume);
  void add_pack(const ManifestPack& listed, uint32_t volume);
  [[nodiscard]] std::string trouble_of(const Pack& pack, const ManifestPack& listed) const;
  FileId add_file(StoredFile file);
  void index_ranges();
  void require_files() const;

  const StorageOptions options_;
  std::vector<StoredShard> shards_;
  std::vector<Volume> volumes_;
  std::vector<StoredFile> files_;
  std::vector<std::string> notes_;
  std::vector<StoredPack> packs_;
  std::vector<std::vector<PackedRange>> ranges_;  // By shard, ascending.
};

}  // namespace sluice::format
