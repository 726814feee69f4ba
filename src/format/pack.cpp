#include "format/pack.h"

#include "base/check.h"
#include "base/error.h"
#include "format/damaged.h"
#include "format/piece_decoder.h"
#include "format/plain_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

namespace sluice::format {
namespace {

using io::kBlockBytes;

constexpr std::array<char, 8> kMagic{'S', 'L', 'U', 'I', 'C', 'E', 'P', 'K'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kKnownFeatures = kPackHasZstd;
constexpr uint32_t kAlignmentMax = 1u << 30;
constexpr uint64_t kShardBytesMax = uint64_t{1} << 62;  // Sums of two such numbers do not wrap.
constexpr std::string_view kRemedy = "the pack is damaged: pack this shard again";

struct FileHeader {
  std::array<char, 8> magic;
  uint32_t version, header_bytes;
  uint64_t required_features, optional_features;
  uint64_t model;
  std::array<uint8_t, 16> volume;
  uint32_t shard, alignment;
  uint32_t segments, extents, pieces, reserved;
  uint64_t index_offset, index_bytes, index_checksum;
};
static_assert(sizeof(FileHeader) == 104);
constexpr uint64_t kHeaderChecksumAt = kPackHeaderBytes - sizeof(uint64_t);

struct FileSegment {
  uint8_t kind, codec;
  uint16_t reserved;
  uint32_t memory_blocks, extents, pieces;
};
static_assert(sizeof(FileSegment) == 16);

struct FileExtent {
  uint64_t offset, bytes;
  uint32_t memory_block;
  uint16_t shard, reserved;
};
static_assert(sizeof(FileExtent) == 24);

struct FilePiece {
  uint32_t memory_block, blocks, pack_block, stored_bytes;
  uint64_t checksum;
};
static_assert(sizeof(FilePiece) == 24);

uint64_t index_bytes(const PackHeader& header) {
  return header.segments * sizeof(FileSegment) + header.extents * sizeof(FileExtent) +
         header.pieces * sizeof(FilePiece);
}

/// The blocks of memory that an extent touches.
struct Blocks {
  uint64_t first, end;
};
Blocks blocks_of(const Extent& extent) {
  return {extent.memory_offset / kBlockBytes,
          round_up(extent.memory_offset + extent.bytes, kBlockBytes) / kBlockBytes};
}

/// Where extents lie in the shards, to find what lies in two of them.
struct ShardRange {
  ShardId shard;
  uint64_t begin, end;
};

class IndexParser {
 public:
  IndexParser(const PackHeader& header, std::span<const std::byte> index, const std::string& path)
      : path_(path), segments_(index.first(header.segments * sizeof(FileSegment))) {
    pack_.header = header;
    extents_ = index.subspan(segments_.size(), header.extents * sizeof(FileExtent));
    pieces_ = index.subspan(segments_.size() + extents_.size());
  }

  Pack parse() {
    pack_.segments.reserve(pack_.header.segments);
    shard_ranges_.reserve(pack_.header.extents);
    for (; number_ < pack_.header.segments; ++number_) {
      const FileSegment file = take<FileSegment>(segments_);
      StoredSegment& segment = pack_.segments.emplace_back();
      if (file.kind > static_cast<uint8_t>(SegmentKind::kOther)) wrong("an unknown kind");
      if (file.codec > static_cast<uint8_t>(Codec::kZstd)) wrong("an unknown codec");
      if (file.reserved != 0) wrong("a reserved field that is not zero");
      segment.layout.kind = static_cast<SegmentKind>(file.kind);
      segment.layout.memory_bytes = file.memory_blocks * kBlockBytes;
      segment.codec = static_cast<Codec>(file.codec);
      take_extents(file.extents, segment.layout);
      take_pieces(file.pieces, segment);
    }
    if (!extents_.empty() || !pieces_.empty()) {
      refuse_damaged(path_, "the index has extents or pieces that belong to no segment", kRemedy);
    }
    check_shard_ranges();
    return std::move(pack_);
  }

 private:
  [[noreturn]] void wrong(std::string_view what) const {
    refuse_damaged(path_, fmt::format("segment {} of the index has {}", number_, what), kRemedy);
  }

  template <class T>
  static T take(std::span<const std::byte>& table) {
    const T value = load<T>(table);
    table = table.subspan(sizeof(T));
    return value;
  }

  void take_extents(uint32_t count, Segment& layout) {
    if (count == 0) wrong("no extents");
    if (count > extents_.size() / sizeof(FileExtent)) wrong("more extents than there are left");
    layout.extents.reserve(count);
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const auto file = take<FileExtent>(extents_);
      if (file.reserved != 0) wrong("an extent with a reserved field that is not zero");
      if (file.bytes == 0 || file.bytes > kShardBytesMax || file.offset > kShardBytesMax) {
        wrong("an extent whose bytes or offset cannot be");
      }
      const Extent extent{
          .shard = {file.shard},
          .offset = file.offset,
          .bytes = file.bytes,
          .memory_offset = file.memory_block * kBlockBytes + file.offset % kBlockBytes};
      const Blocks blocks = blocks_of(extent);
      if (blocks.first < end) wrong("an extent that overlaps the one before it in memory");
      end = blocks.end;
      if (end * kBlockBytes > layout.memory_bytes) wrong("an extent beyond its memory");
      layout.extents.push_back(extent);
      shard_ranges_.push_back({extent.shard, extent.offset, extent.offset + extent.bytes});
    }
  }

  void take_pieces(uint32_t count, StoredSegment& segment) {
    if (count == 0) wrong("no pieces");
    if (count > pieces_.size() / sizeof(FilePiece)) wrong("more pieces than there are left");
    segment.held.reserve(count);
    uint64_t memory_end = 0, held_bytes = 0;
    auto extent = segment.layout.extents.begin();
    for (uint32_t i = 0; i < count; ++i) {
      const StoredPiece& piece = segment.held.emplace_back(take_piece(segment.codec));
      const uint64_t piece_end = uint64_t{piece.memory_block} + piece.blocks;
      if (piece.memory_block < memory_end)
        wrong("pieces that overlap or are out of order in memory");
      while (extent != segment.layout.extents.end() &&
             blocks_of(*extent).end <= piece.memory_block) {
        ++extent;
      }
      if (extent == segment.layout.extents.end() || piece.memory_block < blocks_of(*extent).first ||
          piece_end > blocks_of(*extent).end) {
        wrong("a piece that does not lie in one extent");
      }
      memory_end = piece_end;
      held_bytes += piece.bytes();
    }
    const uint64_t alignment = segment_alignment(held_bytes, pack_.header.alignment);
    if (segment.held.front().offset % alignment != 0) {
      wrong(fmt::format("a first piece that is not at a multiple of {} bytes", alignment));
    }
  }

  StoredPiece take_piece(Codec codec) {
    const auto file = take<FilePiece>(pieces_);
    StoredPiece piece{.memory_block = file.memory_block,
                      .blocks = file.blocks,
                      .stored_bytes = file.stored_bytes,
                      .offset = file.pack_block * kBlockBytes,
                      .checksum = file.checksum};
    if (piece.blocks == 0 || piece.bytes() > kPackedPieceBytesMax) {
      wrong("a piece whose size cannot be");
    }
    if (piece.stored_bytes == 0 || piece.stored_bytes > piece.bytes()) {
      wrong("a piece whose stored size cannot be");
    }
    if (piece.stored_bytes < piece.bytes()) {
      piece.codec = codec;
      if (codec == Codec::kRaw) wrong("a raw piece that is not stored whole");
      if ((pack_.header.required_features & kPackHasZstd) == 0) {
        wrong("an encoded piece, which the header does not announce");
      }
    }
    if (piece.offset < file_end_) wrong("pieces that overlap or are out of order in the file");
    file_end_ = round_up(piece.offset + piece.stored_bytes, kBlockBytes);
    if (file_end_ > pack_.header.index_offset) wrong("a piece that reaches into the index");
    return piece;
  }

  void check_shard_ranges() {
    std::ranges::sort(shard_ranges_, {},
                      [](const ShardRange& r) { return std::tuple(r.shard, r.begin); });
    for (size_t i = 1; i < shard_ranges_.size(); ++i) {
      const ShardRange &before = shard_ranges_[i - 1], &range = shard_ranges_[i];
      if (before.shard == range.shard && range.begin < before.end) {
        refuse_damaged(path_,
                       fmt::format("byte {} of shard {} belongs to two extents of the index",
                                   range.begin, range.shard.value),
                       kRemedy);
      }
    }
  }

  const std::string& path_;
  Pack pack_;
  std::span<const std::byte> segments_, extents_, pieces_;  // What is left of each table.
  std::vector<ShardRange> shard_ranges_;
  uint64_t file_end_ = kPackHeaderBytes;  // Of the pieces so far.
  uint32_t number_ = 0;                   // Of the segment, for messages.
};

void check_features(uint64_t required, const std::string& path) {
  if (const uint64_t unknown = required & ~kKnownFeatures; unknown != 0) {
    throw Error(ErrorCode::kUnsupported,
                "{}: required_features asks for {:#x}, which this program does not know; use a "
                "newer one",
                path, unknown);
  }
  if ((required & kPackHasZstd) != 0 && !has_zstd()) {
    throw Error(ErrorCode::kUnsupported,
                "{}: required_features says that it holds Zstandard frames, but this program was "
                "built without that library; install it and build anew, or pack with --codec raw",
                path);
  }
}

}  // namespace

PackHeader parse_pack_header(std::span<const std::byte> block, uint64_t file_bytes,
                             const std::string& path) {
  const auto wrong = [&](const std::string& why) {
    refuse_damaged(path, "the header is damaged: " + why, kRemedy);
  };
  if (file_bytes < kPackHeaderBytes || block.size() < kPackHeaderBytes) {
    wrong(fmt::format("the file has {} bytes, fewer than a header", file_bytes));
  }
  const auto file = load<FileHeader>(block);
  if (file.magic != kMagic) {
    throw Error(ErrorCode::kCorrupt, "{}: is not a pack, or its magic is damaged; {}", path,
                "name a file that 'sluice pack' wrote, or pack this shard again");
  }
  if (file.version != kVersion) {
    throw Error(ErrorCode::kUnsupported,
                "{}: version is {}, but this program reads {}; use a program of the other version",
                path, file.version, kVersion);
  }
  if (load<uint64_t>(block, kHeaderChecksumAt) != piece_checksum(block.first(kHeaderChecksumAt))) {
    wrong("its checksum is another");
  }
  check_features(file.required_features, path);
  if (file.header_bytes != kPackHeaderBytes) wrong("header_bytes is not 4096");
  if (file.shard > UINT16_MAX) wrong("shard is above 65535");
  if (!std::has_single_bit(file.alignment) || file.alignment < kBlockBytes ||
      file.alignment > kAlignmentMax) {
    wrong("alignment is not a power of two from 4096 to 2^30");
  }
  const PackHeader header{.facts = {.model = {file.model},
                                    .volume = {file.volume},
                                    .shard = {static_cast<uint16_t>(file.shard)}},
                          .required_features = file.required_features,
                          .optional_features = file.optional_features,
                          .alignment = file.alignment,
                          .segments = file.segments,
                          .extents = file.extents,
                          .pieces = file.pieces,
                          .index_offset = file.index_offset,
                          .index_bytes = file.index_bytes,
                          .index_checksum = file.index_checksum};
  if (header.index_bytes != index_bytes(header)) {
    wrong("index_bytes is not what segments, extents and pieces need");
  }
  if (header.index_offset % kBlockBytes != 0 || header.index_offset < kPackHeaderBytes) {
    wrong("index_offset is not a multiple of 4096 behind the header");
  }
  if (header.index_bytes > file_bytes || header.index_offset != file_bytes - header.index_bytes) {
    wrong(fmt::format("index_offset {} and index_bytes {} do not end at the end of the file, {}",
                      header.index_offset, header.index_bytes, file_bytes));
  }
  return header;
}

Pack parse_pack(const PackHeader& header, std::span<const std::byte> index,
                const std::string& path) {
  SLUICE_CHECK(index.size() == header.index_bytes && index.size() == index_bytes(header));
  if (piece_checksum(index) != header.index_checksum) {
    refuse_damaged(path, "the checksum of the index is another", kRemedy);
  }
  return IndexParser(header, index, path).parse();
}

std::vector<std::byte> encode_pack_index(std::span<const StoredSegment> segments) {
  std::vector<std::byte> out, extents, pieces;
  for (const StoredSegment& segment : segments) {
    append(out, FileSegment{.kind = static_cast<uint8_t>(segment.layout.kind),
                            .codec = static_cast<uint8_t>(segment.codec),
                            .reserved = 0,
                            .memory_blocks =
                                static_cast<uint32_t>(segment.layout.memory_bytes / kBlockBytes),
                            .extents = static_cast<uint32_t>(segment.layout.extents.size()),
                            .pieces = static_cast<uint32_t>(segment.held.size())});
    for (const Extent& extent : segment.layout.extents) {
      append(extents,
             FileExtent{.offset = extent.offset,
                        .bytes = extent.bytes,
                        .memory_block = static_cast<uint32_t>(extent.memory_offset / kBlockBytes),
                        .shard = extent.shard.value,
                        .reserved = 0});
    }
    for (const StoredPiece& piece : segment.held) {
      append(pieces, FilePiece{.memory_block = piece.memory_block,
                               .blocks = piece.blocks,
                               .pack_block = static_cast<uint32_t>(piece.offset / kBlockBytes),
                               .stored_bytes = piece.stored_bytes,
                               .checksum = piece.checksum});
    }
  }
  out.insert(out.end(), extents.begin(), extents.end());
  out.insert(out.end(), pieces.begin(), pieces.end());
  return out;
}

std::array<std::byte, kPackHeaderBytes> encode_pack_header(const PackHeader& header) {
  const FileHeader file{.magic = kMagic,
                        .version = kVersion,
                        .header_bytes = kPackHeaderBytes,
                        .required_features = header.required_features,
                        .optional_features = header.optional_features,
                        .model = header.facts.model.value,
                        .volume = header.facts.volume.value,
                        .shard = header.facts.shard.value,
                        .alignment = header.alignment,
                        .segments = header.segments,
                        .extents = header.extents,
                        .pieces = header.pieces,
                        .reserved = 0,
                        .index_offset = header.index_offset,
                        .index_bytes = header.index_bytes,
                        .index_checksum = header.index_checksum};
  std::array<std::byte, kPackHeaderBytes> block{};
  std::memcpy(block.data(), &file, sizeof file);
  const uint64_t checksum = piece_checksum(std::span(block).first(kHeaderChecksumAt));
  std::memcpy(&block[kHeaderChecksumAt], &checksum, sizeof checksum);
  return block;
}

}  // namespace sluice::format
