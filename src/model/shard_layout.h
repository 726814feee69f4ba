#pragma once
#include "format/pack.h"
#include "format/segment.h"
#include "model/weights.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::model {

/// A piece of a segment as packs hold it.
struct PackPiece {
  format::PieceCut cut;
  format::Codec codec = format::Codec::kRaw;  ///< Worth trying.
};

/// What a piece has of a shard.
struct PieceBytes {
  uint64_t offset = 0;  ///< In the shard.
  uint64_t bytes = 0;   ///< At least 1.
  uint64_t skip = 0;    ///< Bytes of the piece in front of them, which belong to no shard.
};
/// `cut` is one of those that ShardLayout::pieces() gives for segment and shard.
[[nodiscard]] PieceBytes bytes_of(const format::Segment& segment, ShardId shard,
                                  const format::PieceCut& cut);

/// Every byte of a checkpoint in segments: those of the model, and SegmentKind::kOther for the rest
/// of its shards (headers, small tensors, the embedding table, the vision part). Knows how each is
/// cut. Immutable.
class ShardLayout {
 public:
  /// `shard_bytes`: the sizes of the files, by shard.
  ShardLayout(const WeightMap& weights, std::span<const uint64_t> shard_bytes);

  [[nodiscard]] const format::Segment& segment(uint32_t index) const { return segments_[index]; }
  [[nodiscard]] size_t segment_count() const { return segments_.size(); }
  /// The segments that have bytes of a shard, in the order of the file.
  [[nodiscard]] std::span<const uint32_t> of_shard(ShardId shard) const;
  /// The first byte of the shard that belongs to a segment.
  [[nodiscard]] uint64_t first_byte(uint32_t segment, ShardId shard) const;
  /// The pieces of a segment that lie in a shard, in the order of its memory. `codec`: for the
  /// scales of experts.
  [[nodiscard]] std::vector<PackPiece> pieces(uint32_t segment, ShardId shard,
                                              format::Codec codec) const;

 private:
  void add_other(std::span<const uint64_t> shard_bytes);
  void sort_by_shard();

  std::vector<format::Segment> segments_;  // The model's by id, then the others.
  std::vector<std::vector<uint32_t>> of_shard_;
  std::span<const ExpertPlace> experts_;
  uint32_t first_expert_ = 0;
};

}  // namespace sluice::model
