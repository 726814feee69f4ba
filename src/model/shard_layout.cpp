#include "model/shard_layout.h"

#include "base/check.h"

#include <algorithm>
#include <utility>

namespace sluice::model {
namespace {

using format::Extent;
using format::FileRange;
using format::Segment;
using format::SegmentKind;

// The embedding table is read row by row, a piece for each: a row of 14 KiB should cost no more
// than that. And the longest part of a shard that is held back for its SHA-256.
constexpr uint64_t kOtherPieceBytes = 64u << 10, kOtherSegmentBytes = 16u << 20;

std::vector<FileRange> ranges_of(const std::vector<Segment>& segments) {
  std::vector<FileRange> ranges;
  for (const Segment& segment : segments) {
    for (const Extent& extent : segment.extents) {
      ranges.push_back({extent.shard, extent.offset, extent.bytes});
    }
  }
  std::ranges::sort(ranges, {}, [](const FileRange& r) { return std::pair(r.shard, r.offset); });
  return ranges;
}

/// Whether a piece lies in the blocks of the extent.
bool holds(const Extent& extent, const format::PieceCut& cut) {
  const uint64_t first = extent.memory_offset / io::kBlockBytes * io::kBlockBytes;
  const uint64_t end = round_up(extent.memory_offset + extent.bytes, io::kBlockBytes);
  return first <= cut.memory_offset() && cut.memory_offset() + cut.bytes() <= end;
}

/// Codes and scales take turns in an expert; a piece belongs to the tensor that its middle is in.
bool is_scales(const ExpertPlace& place, const format::PieceCut& cut) {
  const uint64_t middle = cut.memory_offset() + cut.bytes() / 2;
  const auto next = std::ranges::upper_bound(place.offset, middle);
  return next != place.offset.begin() && (next - place.offset.begin()) % 2 == 0;
}

std::vector<uint64_t> borders_of_other(const Segment& segment) {
  std::vector<uint64_t> borders;
  for (uint64_t at = kOtherPieceBytes; at < segment.memory_bytes; at += kOtherPieceBytes) {
    borders.push_back(at);
  }
  return borders;
}

}  // namespace

PieceBytes bytes_of(const Segment& segment, ShardId shard, const format::PieceCut& cut) {
  const uint64_t cut_end = cut.memory_offset() + cut.bytes();
  const auto extent = std::ranges::find_if(segment.extents, [&](const Extent& e) {
    return e.shard == shard && e.memory_offset < cut_end &&
           cut.memory_offset() < e.memory_offset + e.bytes;
  });
  SLUICE_CHECK(extent != segment.extents.end());
  const uint64_t begin = std::max(extent->memory_offset, cut.memory_offset());
  const uint64_t end = std::min(extent->memory_offset + extent->bytes, cut_end);
  return {.offset = extent->offset + begin - extent->memory_offset,
          .bytes = end - begin,
          .skip = begin - cut.memory_offset()};
}

ShardLayout::ShardLayout(const WeightMap& weights, std::span<const uint64_t> shard_bytes)
    : segments_(weights.segments),
      of_shard_(shard_bytes.size()),
      experts_(weights.expert_places),
      first_expert_(static_cast<uint32_t>(weights.pass_order.size())) {
  add_other(shard_bytes);
  sort_by_shard();
}

// What no segment of the model covers.
void ShardLayout::add_other(std::span<const uint64_t> shard_bytes) {
  const std::vector<FileRange> ranges = ranges_of(segments_);
  std::vector<uint64_t> place;
  const auto add = [&](ShardId shard, uint64_t from, uint64_t end) {
    while (from < end) {
      const uint64_t bytes =
          std::min(end, from / kOtherSegmentBytes * kOtherSegmentBytes + kOtherSegmentBytes) - from;
      segments_.push_back(
          format::lay_out_segment(SegmentKind::kOther, {{shard, from, bytes}}, place));
      from += bytes;
    }
  };
  auto range = ranges.begin();
  for (uint32_t s = 0; s < shard_bytes.size(); ++s) {
    const ShardId shard{static_cast<uint16_t>(s)};
    uint64_t at = 0;
    for (; range != ranges.end() && range->shard == shard; ++range) {
      SLUICE_CHECK(range->offset >= at);
      add(shard, at, range->offset);
      at = range->offset + range->bytes;
    }
    add(shard, at, shard_bytes[s]);
  }
}

void ShardLayout::sort_by_shard() {
  for (uint32_t i = 0; i < segments_.size(); ++i) {
    for (const Extent& extent : segments_[i].extents) {
      std::vector<uint32_t>& list = of_shard_[extent.shard.value];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
  for (uint32_t s = 0; s < of_shard_.size(); ++s) {
    const ShardId shard{static_cast<uint16_t>(s)};
    std::ranges::sort(of_shard_[s], {}, [&](uint32_t i) { return first_byte(i, shard); });
  }
}

std::span<const uint32_t> ShardLayout::of_shard(ShardId shard) const {
  return of_shard_[shard.value];
}

uint64_t ShardLayout::first_byte(uint32_t segment, ShardId shard) const {
  uint64_t first = UINT64_MAX;
  for (const Extent& extent : segments_[segment].extents) {
    if (extent.shard == shard) first = std::min(first, extent.offset);
  }
  return first;
}

std::vector<PackPiece> ShardLayout::pieces(uint32_t index, ShardId shard,
                                           format::Codec codec) const {
  const Segment& segment = segments_[index];
  const bool expert = segment.kind == SegmentKind::kExpert;
  std::vector<uint64_t> borders;
  if (expert) {
    const auto& tensors = experts_[index - first_expert_].offset;
    borders.assign(tensors.begin(), tensors.end());
  } else if (segment.kind == SegmentKind::kOther) {
    borders = borders_of_other(segment);
  }
  std::vector<PackPiece> pieces;
  for (const format::PieceCut& cut : format::cut_for_pack(segment, borders)) {
    const auto extent =
        std::ranges::find_if(segment.extents, [&](const Extent& e) { return holds(e, cut); });
    SLUICE_CHECK(extent != segment.extents.end());
    if (extent->shard != shard) continue;
    const bool encode = expert && is_scales(experts_[index - first_expert_], cut);
    pieces.push_back({cut, encode ? codec : format::Codec::kRaw});
  }
  return pieces;
}

}  // namespace sluice::model
