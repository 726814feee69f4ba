#include "format/placement.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::format {
namespace {

using io::kBlockBytes;

/// The blocks of memory that an extent touches.
struct Blocks {
  uint64_t first = 0, end = 0;  // Bytes, multiples of a block.
};
Blocks blocks_of(const Extent& extent) {
  const uint64_t first = extent.memory_offset / kBlockBytes * kBlockBytes;
  return {first, round_up(extent.memory_offset + extent.bytes, kBlockBytes)};
}

void check_layout(const Segment& segment) {
  uint64_t end = 0;
  SLUICE_CHECK(!segment.extents.empty());
  for (const Extent& extent : segment.extents) {
    SLUICE_CHECK(extent.memory_offset % kBlockBytes == extent.offset % kBlockBytes);
    SLUICE_CHECK(extent.bytes > 0 && blocks_of(extent).first >= end);
    end = blocks_of(extent).end;
  }
  SLUICE_CHECK(end <= segment.memory_bytes);
}

uint64_t first_byte(const PackedPiece& piece) { return piece.memory_block * kBlockBytes; }
uint64_t end_byte(const PackedPiece& piece) {
  return (uint64_t{piece.memory_block} + piece.blocks) * kBlockBytes;
}

}  // namespace

Placement::Placement(PlacementParts parts) : parts_(std::move(parts)) {
  SLUICE_CHECK(parts_.piece_bytes > 0 && parts_.piece_bytes % kBlockBytes == 0);
  std::vector<PackedPiece>& packed = parts_.packed;
  std::ranges::sort(packed, {}, [](const PackedPiece& p) {
    return std::tuple(p.segment, p.memory_block, p.blocks, p.file, p.offset);
  });
  packed_begin_.reserve(parts_.segments.size() + 1);
  size_t at = 0;
  std::vector<Piece> out;
  for (uint32_t s = 0; s < parts_.segments.size(); ++s) {
    check_layout(parts_.segments[s]);
    packed_begin_.push_back(static_cast<uint32_t>(at));
    while (at < packed.size() && packed[at].segment.value == s) ++at;
  }
  SLUICE_CHECK(at == packed.size());
  packed_begin_.push_back(static_cast<uint32_t>(at));
  for (uint32_t s = 0; s < parts_.segments.size(); ++s) {
    check_cut({s});
    pieces({s}, out);
    pieces_max_ = std::max<uint64_t>(pieces_max_, out.size());
    if (first_hole_ || std::ranges::find(out, 0, &Piece::holder_count) == out.end()) continue;
    first_hole_ = SegmentId{s};
  }
}

std::span<const PackedPiece> Placement::packed_of(SegmentId segment) const {
  const uint32_t begin = packed_begin_[segment.value];
  return std::span(parts_.packed).subspan(begin, packed_begin_[segment.value + 1] - begin);
}

// Pieces of all packs are the same or apart, and each lies in the blocks of one extent.
void Placement::check_cut(SegmentId id) const {
  const std::vector<Extent>& extents = parts_.segments[id.value].extents;
  const std::span<const PackedPiece> packed = packed_of(id);
  size_t e = 0;
  for (size_t i = 0; i < packed.size(); ++i) {
    const bool repeats = i > 0 && packed[i].memory_block == packed[i - 1].memory_block &&
                         packed[i].blocks == packed[i - 1].blocks;
    const bool apart = i == 0 || end_byte(packed[i - 1]) <= first_byte(packed[i]);
    while (e < extents.size() && blocks_of(extents[e]).end <= first_byte(packed[i])) ++e;
    const bool inside = packed[i].blocks > 0 && e < extents.size() &&
                        blocks_of(extents[e]).first <= first_byte(packed[i]) &&
                        end_byte(packed[i]) <= blocks_of(extents[e]).end;
    if ((repeats || apart) && inside) continue;
    throw Error(ErrorCode::kCorrupt,
                "the packs cut {} in different places; they are of different conversions: pack the "
                "checkpoint again, or leave the volumes of the other conversion out",
                parts_.name ? parts_.name(id) : fmt::format("segment {}", id.value));
  }
}

void Placement::pieces(SegmentId id, std::vector<Piece>& out) const {
  out.clear();
  std::span<const PackedPiece> packed = packed_of(id);
  for (const Extent& extent : parts_.segments[id.value].extents) {
    auto [at, end] = blocks_of(extent);
    while (!packed.empty() && first_byte(packed.front()) < end) {
      const PackedPiece& front = packed.front();
      cut(extent, at, first_byte(front), out);
      Piece piece{.memory_offset = first_byte(front), .bytes = front.blocks * kBlockBytes};
      at = end_byte(front);
      for (; !packed.empty() && first_byte(packed.front()) == piece.memory_offset;
           packed = packed.subspan(1)) {
        const PackedPiece& copy = packed.front();
        piece.add({.file = copy.file,
                   .codec = copy.codec,
                   .checked = true,
                   .offset = copy.offset,
                   .stored_bytes = copy.stored_bytes,
                   .checksum = copy.checksum});
      }
      add_shards(extent, piece);
      out.push_back(piece);
    }
    cut(extent, at, end, out);
  }
}

// What no pack holds.
void Placement::cut(const Extent& extent, uint64_t from, uint64_t end,
                    std::vector<Piece>& out) const {
  const uint64_t first = blocks_of(extent).first;
  while (from < end) {
    const uint64_t border = first + ((from - first) / parts_.piece_bytes + 1) * parts_.piece_bytes;
    Piece piece{.memory_offset = from, .bytes = std::min(border, end) - from};
    add_shards(extent, piece);
    out.push_back(piece);
    from += piece.bytes;
  }
}

// For example offset 5000, 100 bytes, memory offset 904: block 4096 of the shard goes to memory 0,
// so byte 5000 lands at 904 as promised.
void Placement::add_shards(const Extent& extent, Piece& piece) const {
  if (extent.shard.value >= parts_.shard_files.size()) return;
  for (const FileId file : parts_.shard_files[extent.shard.value]) {
    piece.add({.file = file,
               .offset = extent.offset - extent.memory_offset + piece.memory_offset,
               .stored_bytes = piece.bytes});
  }
}

uint64_t Placement::table_bytes() const {
  uint64_t extents = 0;
  for (const Segment& segment : parts_.segments) extents += segment.extents.capacity();
  return parts_.segments.capacity() * sizeof(Segment) + extents * sizeof(Extent) +
         parts_.packed.capacity() * sizeof(PackedPiece) +
         packed_begin_.capacity() * sizeof(uint32_t);
}

uint64_t payload_bytes(const Segment& segment) {
  uint64_t bytes = 0;
  for (const Extent& extent : segment.extents) bytes += extent.bytes;
  return bytes;
}

}  // namespace sluice::format
