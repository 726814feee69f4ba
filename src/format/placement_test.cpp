// Without this test a piece could be read from the wrong place of one of its copies.
#include "format/placement.h"

#include "base/error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::format {
namespace {

constexpr uint64_t kBlock = io::kBlockBytes;

struct CutCase {
  const char* name;
  uint64_t offset, bytes, piece_bytes;
  std::vector<std::pair<uint64_t, uint64_t>> pieces;  // Offset in the shard and bytes, in blocks.
};

TEST(Placement, RoundsOutwardsAndCoversEachBlockOnce) {
  const CutCase cases[] = {
      {"one whole block", kBlock, kBlock, kBlock, {{1, 1}}},
      {"inside one block", kBlock + 5, 10, kBlock, {{1, 1}}},
      {"over a border", 2 * kBlock - 1, 2, 4 * kBlock, {{1, 2}}},
      {"cut at the largest piece", 8, 4 * kBlock, 2 * kBlock, {{0, 2}, {2, 2}, {4, 1}}},
      {"an even cut", 0, 4 * kBlock, 2 * kBlock, {{0, 2}, {2, 2}}},
  };
  for (const CutCase& c : cases) {
    const uint64_t lead = c.offset % kBlock;
    const Placement placement(
        {.segments = {{.memory_bytes = 16 * kBlock,
                       .extents = {{{1}, c.offset, c.bytes, 7 * kBlock + lead}}}},
         .shard_files = {{}, {{3}, {5}}},
         .packed = {},
         .piece_bytes = c.piece_bytes});
    std::vector<Piece> pieces;
    placement.pieces({0}, pieces);
    ASSERT_EQ(pieces.size(), c.pieces.size()) << c.name;
    EXPECT_EQ(placement.pieces_max(), c.pieces.size()) << c.name;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto [block, blocks] = c.pieces[i];
      EXPECT_EQ(pieces[i].bytes, blocks * kBlock) << c.name;
      EXPECT_EQ(pieces[i].memory_offset, (7 + block) * kBlock - (c.offset - lead)) << c.name;
      ASSERT_EQ(pieces[i].holder_count, 2u) << c.name;
      EXPECT_EQ(pieces[i].holders[0].file, FileId{3}) << c.name;
      EXPECT_EQ(pieces[i].holders[1].file, FileId{5}) << c.name;
      for (const Holder& holder : pieces[i].held()) {
        EXPECT_EQ(holder.offset, block * kBlock) << c.name;
        EXPECT_EQ(holder.stored_bytes, blocks * kBlock) << c.name;
        EXPECT_FALSE(holder.checked) << c.name;
      }
    }
    EXPECT_EQ(payload_bytes(placement.segments()[0]), c.bytes);
    EXPECT_FALSE(placement.first_hole().has_value());
  }
}

/// One segment of two extents, of 5 and 3 blocks.
PlacementParts two_extents() {
  return {.segments = {{.memory_bytes = 8 * kBlock,
                        .extents = {{{0}, 10 * kBlock, 5 * kBlock, 0},
                                    {{1}, kBlock, 3 * kBlock, 5 * kBlock}}}},
          .shard_files = {},
          .packed = {},
          .piece_bytes = 2 * kBlock};
}

PackedPiece packed(uint32_t block, uint32_t blocks, uint16_t file) {
  return {.segment = {0},
          .memory_block = block,
          .blocks = blocks,
          .file = {file},
          .stored_bytes = static_cast<uint32_t>(blocks * kBlock),
          .offset = uint64_t{100} * file * kBlock,
          .checksum = file};
}

TEST(Placement, PacksSayHowASegmentIsCutAndShardsFollow) {
  PlacementParts parts = two_extents();
  parts.shard_files = {{{0}}, {{1}}};
  parts.packed = {packed(5, 3, 7), packed(1, 3, 7), packed(1, 3, 6)};
  const Placement placement(std::move(parts));
  std::vector<Piece> pieces;
  placement.pieces({0}, pieces);
  std::string text;
  for (const Piece& piece : pieces) {
    text += std::to_string(piece.memory_offset / kBlock) + "+" +
            std::to_string(piece.bytes / kBlock) + ":";
    for (const Holder& holder : piece.held()) {
      text += " " + std::to_string(holder.file.value) + "@" +
              std::to_string(holder.offset / kBlock) + (holder.checked ? "c" : "");
    }
    text += "; ";
  }
  EXPECT_EQ(text, "0+1: 0@10; 1+3: 6@600c 7@700c 0@11; 4+1: 0@14; 5+3: 7@700c 1@1; ");
}

TEST(Placement, FindsWhatNobodyHolds) {
  PlacementParts parts = two_extents();
  EXPECT_EQ(Placement(parts).first_hole(), SegmentId{0});
  parts.packed = {packed(0, 5, 1), packed(5, 2, 2)};
  EXPECT_EQ(Placement(parts).first_hole(), SegmentId{0});
  parts.packed.push_back(packed(7, 1, 1));
  EXPECT_FALSE(Placement(parts).first_hole().has_value());
}

TEST(Placement, RefusesPacksThatCutDifferently) {
  struct {
    const char* name;
    std::vector<PackedPiece> packed;
  } const cases[] = {
      {"they overlap", {packed(0, 3, 1), packed(2, 2, 2)}},
      {"one is longer", {packed(0, 3, 1), packed(0, 2, 2)}},
      {"across extents", {packed(4, 2, 1)}},
      {"past the end", {packed(7, 2, 1)}},
      {"nothing", {packed(3, 0, 1)}},
  };
  for (const auto& c : cases) {
    PlacementParts parts = two_extents();
    parts.packed = c.packed;
    parts.name = [](SegmentId) { return std::string("expert 9"); };
    try {
      const Placement placement(std::move(parts));
      ADD_FAILURE() << c.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      EXPECT_NE(std::string(error.what()).find("expert 9"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace sluice::format
