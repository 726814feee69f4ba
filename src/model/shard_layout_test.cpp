// Without these tests packs could miss bytes of a shard that is then deleted.
#include "model/shard_layout.h"

#include "format/checkpoint.h"
#include "model/test_checkpoint.h"

#include <algorithm>
#include <memory>

#include <gtest/gtest.h>

namespace sluice::model {
namespace {

/// A checkpoint whose expert scales are several blocks long.
format::SyntheticShape shape_with_scales() {
  format::SyntheticShape shape = small_synthetic_shape();
  shape.expert_hidden = 512;
  shape.latent = 1024;
  return shape;
}

class ShardLayouts : public testing::Test {
 protected:
  void SetUp() override {
    format::write_synthetic_checkpoint(folder_.path(), shape_with_scales(), {});
    checkpoint_ = std::make_unique<format::Checkpoint>(folder_.path());
    shape_ = parse_shape(checkpoint_->config_json(), "config.json");
    weights_ = std::make_unique<WeightMap>(*checkpoint_, shape_, panel_bytes_max(shape_));
    for (const format::CheckpointFile& file : checkpoint_->files()) sizes_.push_back(file.bytes);
    layout_ = std::make_unique<ShardLayout>(*weights_, sizes_);
  }

  TestFolder folder_;
  std::unique_ptr<format::Checkpoint> checkpoint_;
  ModelShape shape_;
  std::unique_ptr<WeightMap> weights_;
  std::vector<uint64_t> sizes_;
  std::unique_ptr<ShardLayout> layout_;
};

TEST_F(ShardLayouts, EveryByteOfAShardIsInOnePiece) {
  for (uint16_t s = 0; s < sizes_.size(); ++s) {
    uint64_t at = 0;
    for (const uint32_t index : layout_->of_shard({s})) {
      const format::Segment& segment = layout_->segment(index);
      ASSERT_EQ(segment.extents.size(), 1u);
      const format::Extent& extent = segment.extents.front();
      ASSERT_EQ(extent.offset, at) << "shard " << s;
      ASSERT_EQ(layout_->first_byte(index, {s}), at);
      uint64_t block = extent.memory_offset / io::kBlockBytes;
      for (const PackPiece& piece : layout_->pieces(index, {s}, format::Codec::kRaw)) {
        ASSERT_EQ(piece.cut.memory_block, block);
        ASSERT_EQ(piece.codec, format::Codec::kRaw);
        block += piece.cut.blocks;
      }
      ASSERT_EQ(block * io::kBlockBytes,
                round_up(extent.memory_offset + extent.bytes, io::kBlockBytes));
      at += extent.bytes;
    }
    EXPECT_EQ(at, sizes_[s]) << "shard " << s;
  }
}

TEST_F(ShardLayouts, OnlyScalesAreCoded) {
  const uint64_t scale_bytes = uint64_t{shape_.expert_hidden} * shape_.latent / 32;
  for (uint32_t e = 0; e < weights_->expert_count(); ++e) {
    const auto index = static_cast<uint32_t>(weights_->pass_order.size()) + e;
    const ShardId shard = layout_->segment(index).extents.front().shard;
    const std::array<uint32_t, 6>& tensors = weights_->expert_places[e].offset;
    uint64_t coded = 0;
    for (const PackPiece& piece : layout_->pieces(index, shard, format::Codec::kZstd)) {
      if (piece.codec == format::Codec::kRaw) continue;
      const uint64_t middle = piece.cut.memory_offset() + piece.cut.bytes() / 2;
      EXPECT_TRUE(std::ranges::any_of(std::array{1, 3, 5}, [&](int scales) {
        return tensors[scales] <= middle && middle < tensors[scales] + scale_bytes;
      })) << middle;
      coded += piece.cut.bytes();
    }
    EXPECT_NEAR(static_cast<double>(coded), 3.0 * static_cast<double>(scale_bytes),
                3.0 * io::kBlockBytes);
  }
  for (uint32_t panel = 0; panel < weights_->pass_order.size(); ++panel) {
    const ShardId shard = layout_->segment(panel).extents.front().shard;
    for (const PackPiece& piece : layout_->pieces(panel, shard, format::Codec::kZstd)) {
      EXPECT_EQ(piece.codec, format::Codec::kRaw);
    }
  }
}

// An expert whose tensors lie in two files: each pack holds the pieces of its own.
TEST(ShardLayout, ASegmentMayHavePartsInSeveralShards) {
  constexpr uint64_t kBytes = 3 * io::kBlockBytes;
  const TestFolder folder;
  format::write_synthetic_checkpoint(folder.path(), small_synthetic_shape(), {});
  const format::Checkpoint checkpoint(folder.path());
  const ModelShape shape = parse_shape(checkpoint.config_json(), "config.json");
  WeightMap weights(checkpoint, shape, panel_bytes_max(shape));
  std::vector<uint64_t> place;
  weights.segments = {format::lay_out_segment(
      format::SegmentKind::kSpine, {{{1}, 100, 500}, {{0}, 5000, 200}, {{0}, 300, 50}}, place)};
  weights.pass_order = {{0}};
  const ShardLayout layout(weights, std::vector<uint64_t>{kBytes, kBytes});
  EXPECT_EQ(layout.of_shard({0}).size(), 4u);  // A gap in front of, between and behind its parts.
  EXPECT_EQ(layout.of_shard({1}).size(), 3u);
  EXPECT_EQ(layout.first_byte(0, {0}), 300u);
  EXPECT_EQ(layout.first_byte(0, {1}), 100u);
  EXPECT_EQ(layout.pieces(0, {0}, format::Codec::kRaw).size(), 2u);
  EXPECT_EQ(layout.pieces(0, {1}, format::Codec::kRaw).size(), 1u);
}

}  // namespace
}  // namespace sluice::model
