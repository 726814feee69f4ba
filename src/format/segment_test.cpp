// A segment that is laid out wrongly would be read into the wrong place, or could not be read
// directly.
#include "format/segment.h"

#include <gtest/gtest.h>

namespace sluice::format {
namespace {

constexpr uint64_t kBlock = io::kBlockBytes;

TEST(Segment, NeighboursShareAnExtent) {
  std::vector<uint64_t> place;
  const Segment segment = lay_out_segment(
      SegmentKind::kExpert, {{{3}, 5000, 100}, {{3}, 5100, 50}, {{3}, 5150, 7}}, place);
  ASSERT_EQ(segment.extents.size(), 1u);
  EXPECT_EQ(segment.extents[0].offset, 5000u);
  EXPECT_EQ(segment.extents[0].bytes, 157u);
  EXPECT_EQ(segment.extents[0].memory_offset, 5000 % kBlock);
  EXPECT_EQ(place, (std::vector<uint64_t>{904, 1004, 1054}));
  EXPECT_EQ(segment.memory_bytes, kBlock);
}

TEST(Segment, OthersStartInABlockOfTheirOwn) {
  std::vector<uint64_t> place;
  const std::vector<FileRange> ranges = {
      {{0}, 10, 4096}, {{1}, 4106, 5}, {{0}, 9, 3}, {{0}, 20, 9000}};
  const Segment segment = lay_out_segment(SegmentKind::kSpine, ranges, place);
  ASSERT_EQ(segment.extents.size(), 4u);
  uint64_t end = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Extent& extent = segment.extents[i];
    EXPECT_EQ(extent.shard, ranges[i].shard);
    EXPECT_EQ(extent.offset, ranges[i].offset);
    EXPECT_EQ(extent.bytes, ranges[i].bytes);
    EXPECT_EQ(extent.memory_offset, place[i]);
    EXPECT_EQ(extent.memory_offset % kBlock, extent.offset % kBlock);
    // Rounded outwards, no two extents share a block of memory.
    EXPECT_GE(extent.memory_offset / kBlock * kBlock, end);
    end = round_up(extent.memory_offset + extent.bytes, kBlock);
  }
  EXPECT_EQ(segment.memory_bytes, end);
}

}  // namespace
}  // namespace sluice::format
