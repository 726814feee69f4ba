#pragma once
#include "base/types.h"
#include "format/ids.h"
#include "format/placement.h"
#include "format/segment.h"
#include "io/drive_array.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The pack format, which docs/formats.md describes byte by byte: a header of one block, pieces of
/// the memory images of segments, and an index. pack_reader.h and pack_writer.h deal with files.
namespace sluice::format {

inline constexpr uint64_t kPackHeaderBytes = io::kBlockBytes;
/// Larger pieces are refused, so that a reader knows how much memory one needs.
inline constexpr uint64_t kPackedPieceBytesMax = 16u << 20;
/// Segments of at least this size start at multiples of it.
inline constexpr uint32_t kPackAlignment = 2u << 20;

/// Bits of PackHeader::required_features.
inline constexpr uint64_t kPackHasZstd = 1;  ///< Some pieces are Zstandard frames.

/// Which bytes a pack has: pieces of one shard of one model, on one volume.
struct PackFacts {
  ModelId model;
  VolumeId volume;
  ShardId shard;
  friend bool operator==(const PackFacts&, const PackFacts&) = default;
};

struct PackHeader {
  PackFacts facts;
  uint64_t required_features = 0;  ///< A reader that does not know one of them refuses the pack.
  uint64_t optional_features = 0;  ///< May be ignored.
  uint32_t alignment = kPackAlignment;  ///< Bytes, a power of two; see segment_alignment().
  uint32_t segments = 0, extents = 0, pieces = 0;
  uint64_t index_offset = 0;  ///< Bytes from the start of the file; the index ends the file.
  uint64_t index_bytes = 0;
  uint64_t index_checksum = 0;  ///< XXH3-64.
  friend bool operator==(const PackHeader&, const PackHeader&) = default;
};

/// A piece that the pack holds.
struct StoredPiece {
  uint32_t memory_block = 0;  ///< In blocks from the start of the segment's memory.
  uint32_t blocks = 0;        ///< Of memory.
  Codec codec = Codec::kRaw;
  uint32_t stored_bytes = 0;
  uint64_t offset = 0;    ///< Bytes from the start of the pack, whole blocks.
  uint64_t checksum = 0;  ///< XXH3-64 of the stored bytes.

  [[nodiscard]] uint64_t bytes() const { return blocks * io::kBlockBytes; }
  /// The piece as it is read from a file that has the pack.
  [[nodiscard]] Holder holder(FileId file = {}) const {
    return {.file = file,
            .codec = codec,
            .checked = true,
            .offset = offset,
            .stored_bytes = stored_bytes,
            .checksum = checksum};
  }
  friend bool operator==(const StoredPiece&, const StoredPiece&) = default;
};

/// A segment of which the pack holds some pieces, or all.
struct StoredSegment {
  Segment layout;                 ///< Says which bytes of the released shards these are.
  Codec codec = Codec::kRaw;      ///< Of those pieces that it makes shorter; the others are raw.
  std::vector<StoredPiece> held;  ///< In the order of the memory and of the pack; at least one.
};

/// All that a pack says of itself.
struct Pack {
  PackHeader header;
  std::vector<StoredSegment> segments;  ///< In the order of the pack.
};

/// Parses the first block of a pack that has `file_bytes`. Throws Error that names `path` and the
/// field: kCorrupt, and kUnsupported for a version or a required feature that this build lacks.
[[nodiscard]] PackHeader parse_pack_header(std::span<const std::byte> block, uint64_t file_bytes,
                                           const std::string& path);

/// Parses the last header.index_bytes of the pack and checks all of it: sums, bounds, order,
/// overlaps. Allocates in proportion to the index. Throws Error(kCorrupt) that names `path`, the
/// segment and the field.
[[nodiscard]] Pack parse_pack(const PackHeader& header, std::span<const std::byte> index,
                              const std::string& path);

/// The index of segments that keep the rules of the format.
[[nodiscard]] std::vector<std::byte> encode_pack_index(std::span<const StoredSegment> segments);
[[nodiscard]] std::array<std::byte, kPackHeaderBytes> encode_pack_header(const PackHeader& header);

/// What the place of a segment's first piece is a multiple of, when its pieces in the pack take
/// `held_bytes` in memory: the power of two that is not below, at least a block and at most
/// `alignment`.
[[nodiscard]] uint64_t segment_alignment(uint64_t held_bytes, uint64_t alignment = kPackAlignment);

/// Blocks of a segment's memory that become a piece.
struct PieceCut {
  uint32_t memory_block = 0;
  uint32_t blocks = 0;
  [[nodiscard]] uint64_t memory_offset() const { return memory_block * io::kBlockBytes; }
  [[nodiscard]] uint64_t bytes() const { return blocks * io::kBlockBytes; }
  friend bool operator==(const PieceCut&, const PieceCut&) = default;
};

/// How a segment is cut for packs: inside each extent, at each of `borders` (bytes of its memory,
/// ascending, rounded to the nearest block), and what lies between two of them into equal pieces of
/// at most 1 MiB. A tensor whose ends are borders thus has pieces of its own. The same for every
/// volume, so that copies and stripes fit together.
[[nodiscard]] std::vector<PieceCut> cut_for_pack(const Segment& segment,
                                                 std::span<const uint64_t> borders);

/// File name of the pack that has bytes of the shard of this file name, for every volume. A pack
/// that takes the place of another has a name of its own: `generation` counts from 1.
[[nodiscard]] std::string pack_file_name(std::string_view shard_name, uint32_t generation = 1);
/// Whether it is the name of such a pack, of any generation.
[[nodiscard]] bool is_pack_of(std::string_view file_name, std::string_view shard_name);
/// What a pack is called until it is whole; the file of a killed run, which can be removed.
[[nodiscard]] bool is_unfinished_pack(std::string_view file_name);

}  // namespace sluice::format
