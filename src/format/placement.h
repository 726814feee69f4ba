#pragma once
#include "base/types.h"
#include "format/segment.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// How the stored bytes of a piece become its bytes in memory.
enum class Codec : uint8_t {
  kRaw = 0,   ///< They are the same.
  kZstd = 1,  ///< One Zstandard frame.
};

/// A copy of a piece in a file.
struct Holder {
  FileId file;
  Codec codec = Codec::kRaw;
  bool checked = false;       ///< `checksum` is known; only then is a wrong byte noticed.
  uint64_t offset = 0;        ///< Bytes from the start of the file, a multiple of io::kBlockBytes.
  uint64_t stored_bytes = 0;  ///< Of the copy; at most those of the piece, of which kRaw has all.
  uint64_t checksum = 0;      ///< XXH3-64 of the stored bytes.
};

/// Blocks of a segment's memory that are read at once, and everyone who holds them.
struct Piece {
  static constexpr size_t kHoldersMax = 8;

  uint64_t memory_offset = 0;  ///< From the start of the segment's memory, whole blocks.
  uint64_t bytes = 0;          ///< Likewise.
  uint8_t holder_count = 0;
  std::array<Holder, kHoldersMax> holders{};

  [[nodiscard]] std::span<const Holder> held() const {
    return std::span(holders).first(holder_count);
  }
  /// Forgets a holder beyond kHoldersMax.
  void add(const Holder& holder) {
    if (holder_count < kHoldersMax) holders[holder_count++] = holder;
  }
};

/// One copy of a piece in a pack.
struct PackedPiece {
  SegmentId segment;
  uint32_t memory_block = 0;  ///< memory_offset in blocks.
  uint32_t blocks = 0;        ///< bytes in blocks.
  FileId file;
  Codec codec = Codec::kRaw;
  uint32_t stored_bytes = 0;
  uint64_t offset = 0;  ///< As in Holder.
  uint64_t checksum = 0;
};

/// What a placement is made of.
struct PlacementParts {
  std::vector<Segment> segments;  ///< By id.
  /// By shard: the files that are complete copies of it; may be empty.
  std::vector<std::vector<FileId>> shard_files;
  std::vector<PackedPiece> packed;  ///< In any order.
  uint64_t piece_bytes = 1u << 20;  ///< Where no pack says how a segment is cut; whole blocks.
  std::function<std::string(SegmentId)> name{};  ///< What errors call a segment; may be empty.
};

/// Where each piece of each copy of every segment lies. Immutable, so any thread may read it.
///
/// Packs say how a segment is cut into pieces; what no pack holds is cut at multiples of
/// `piece_bytes` from the first block of its extent. A piece never crosses from one extent into
/// another, so that it can be read from a shard as well.
class Placement {
 public:
  /// Throws Error(kCorrupt) that names the segment when two packs cut it differently, or one cuts
  /// it across extents. Extents that are not congruent to their memory are bugs (checked).
  explicit Placement(PlacementParts parts);

  [[nodiscard]] std::span<const Segment> segments() const { return parts_.segments; }
  /// Size of a usual piece.
  [[nodiscard]] uint64_t piece_bytes() const { return parts_.piece_bytes; }
  /// The pieces of a segment in the order of its memory.
  void pieces(SegmentId segment, std::vector<Piece>& out) const;
  /// Most pieces that a segment has.
  [[nodiscard]] uint64_t pieces_max() const { return pieces_max_; }
  /// A segment that cannot be read as a whole because nobody holds a piece of it; nothing when all
  /// is well. Every segment of a streamer must be readable.
  [[nodiscard]] std::optional<SegmentId> first_hole() const { return first_hole_; }
  /// Memory of the tables.
  [[nodiscard]] uint64_t table_bytes() const;

 private:
  void check_cut(SegmentId segment) const;
  void cut(const Extent& extent, uint64_t from, uint64_t end, std::vector<Piece>& out) const;
  void add_shards(const Extent& extent, Piece& piece) const;
  [[nodiscard]] std::span<const PackedPiece> packed_of(SegmentId segment) const;

  PlacementParts parts_;
  std::vector<uint32_t> packed_begin_;  // By segment, and the end: its first in parts_.packed.
  uint64_t pieces_max_ = 0;
  std::optional<SegmentId> first_hole_;
};

/// Bytes of all extents, without rounding.
[[nodiscard]] uint64_t payload_bytes(const Segment& segment);

}  // namespace sluice::format
