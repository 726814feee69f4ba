// Without this test a wrong cut of segments into reads, or a slot given up in the wrong order,
// costs speed or overwrites weights unseen.
#include "stream/slot_table.h"

#include "io/drive_array.h"
#include "stream/read_pieces.h"

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using format::Segment;
using format::SegmentKind;

constexpr uint64_t kBlock = io::kBlockBytes;

struct CutCase {
  const char* name;
  uint64_t offset, bytes, read_bytes;
  std::vector<std::pair<uint64_t, uint64_t>> pieces;  // Offset and bytes, in blocks.
};

TEST(CutPieces, RoundsOutwardsAndCoversEachBlockOnce) {
  const CutCase cases[] = {
      {"one whole block", kBlock, kBlock, kBlock, {{1, 1}}},
      {"inside one block", kBlock + 5, 10, kBlock, {{1, 1}}},
      {"over a border", 2 * kBlock - 1, 2, 4 * kBlock, {{1, 2}}},
      {"cut at the largest read", 8, 4 * kBlock, 2 * kBlock, {{0, 2}, {2, 2}, {4, 1}}},
      {"an even cut", 0, 4 * kBlock, 2 * kBlock, {{0, 2}, {2, 2}}},
  };
  for (const CutCase& c : cases) {
    const uint64_t lead = c.offset % kBlock;
    const Segment segment{.memory_bytes = 16 * kBlock,
                          .extents = {{{3}, c.offset, c.bytes, 7 * kBlock + lead}}};
    std::vector<Piece> pieces;
    cut_pieces(segment, c.read_bytes, pieces);
    ASSERT_EQ(pieces.size(), c.pieces.size()) << c.name;
    for (size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(pieces[i].offset, c.pieces[i].first * kBlock) << c.name;
      EXPECT_EQ(pieces[i].bytes, c.pieces[i].second * kBlock) << c.name;
      EXPECT_EQ(pieces[i].memory_offset - 7 * kBlock, pieces[i].offset - (c.offset - lead))
          << c.name;
      EXPECT_EQ(pieces[i].drive.value, 3) << c.name;
    }
    EXPECT_EQ(payload_bytes(segment), c.bytes);
    EXPECT_EQ(piece_count(segment, c.read_bytes), pieces.size()) << c.name;
  }
}

TEST(SlotRecord, HoldsWhatIsNotedAboutAnySegment) {
  for (const uint64_t blocks : {1u, 7u, 33u, 100u}) {
    const std::vector<Segment> segments = {
        {.memory_bytes = kBlock, .extents = {{{0}, 0, kBlock, 0}}},
        {.memory_bytes = (blocks + 1) * kBlock,
         .extents = {{{0}, 0, kBlock, 0}, {{1}, 0, blocks * kBlock, kBlock}}}};
    SlotTable table(
        segments,
        {.slots = 1, .slot_bytes = segments[1].memory_bytes, .pinned = {}, .read_bytes = kBlock});
    const uint32_t index = table.start({1}, /*hint=*/false, 0).value();
    table.add_waiter(index, 0);
    for (uint64_t i = 0; i <= blocks; ++i) table.piece_started(index);
    table.retry(index, 0);
    const Slot& slot = table.slot(index);
    EXPECT_GE(SlotTable::record_bytes(segments, kBlock),
              sizeof slot + slot.pieces.capacity() * sizeof(Piece) +
                  slot.waiters.capacity() * sizeof(uint32_t))
        << blocks;
  }
}

/// Segments of one block: 0 .. 9 spine, 10 .. 19 experts.
class SlotTableTest : public testing::Test {
 protected:
  SlotTableTest() {
    for (uint32_t i = 0; i < 20; ++i) {
      segments_.push_back({.kind = i < 10 ? SegmentKind::kSpine : SegmentKind::kExpert,
                           .memory_bytes = kBlock,
                           .extents = {{{0}, i * kBlock, kBlock, 0}}});
    }
  }

  SlotTable table(uint64_t slots, uint64_t spine_slots = 0, std::vector<SegmentId> pinned = {}) {
    return SlotTable(segments_, {.slots = slots,
                                 .spine_slots = spine_slots,
                                 .slot_bytes = kBlock,
                                 .pinned = pinned,
                                 .read_bytes = kBlock});
  }

  /// Brings a segment in and leaves it idle.
  static void load(SlotTable& table, uint32_t segment) {
    const std::optional<uint32_t> slot = table.start({segment}, false, 0);
    ASSERT_TRUE(slot.has_value());
    table.piece_started(*slot);
    --table.slot(*slot).reads_in_flight;
    table.finish(*slot);
  }
  static bool holds(const SlotTable& table, uint32_t segment) {
    return table.find({segment}) != SlotTable::kNone;
  }

  std::vector<Segment> segments_;
};

TEST_F(SlotTableTest, GivesUpEmptyThenSpineThenOldestExpertThenNewestHint) {
  SlotTable slots = table(4);
  load(slots, 10);
  load(slots, 11);
  load(slots, 0);
  load(slots, 12);  // Empty.
  EXPECT_TRUE(holds(slots, 0));
  load(slots, 13);
  EXPECT_FALSE(holds(slots, 0));
  slots.touch(slots.find({10}));
  load(slots, 14);
  EXPECT_FALSE(holds(slots, 11));
  EXPECT_TRUE(holds(slots, 10));
  EXPECT_EQ(slots.evictions(), 1u);

  SlotTable hinted = table(2);
  EXPECT_TRUE(hinted.start({10}, true, 0).has_value());
  EXPECT_TRUE(hinted.start({11}, true, 0).has_value());
  EXPECT_FALSE(hinted.start({12}, true, 0).has_value());  // A hint takes nothing from a hint.
  EXPECT_TRUE(hinted.start({12}, false, 1).has_value());
  EXPECT_TRUE(holds(hinted, 10));
  EXPECT_FALSE(holds(hinted, 11));
}

TEST_F(SlotTableTest, KeepsTheExpertThatManyRequestsNamed) {
  SlotTable slots = table(2);
  for (const uint32_t expert : {10u, 10u, 10u, 11u, 12u}) {
    slots.begin_round();
    slots.use({expert});
    if (!holds(slots, expert)) load(slots, expert);
  }
  EXPECT_TRUE(holds(slots, 10) && holds(slots, 12));
}

TEST_F(SlotTableTest, WhatAHintBroughtIsNotTheFirstToGo) {
  SlotTable slots = table(2);
  slots.begin_round();
  const uint32_t hinted = *slots.start({15}, /*hint=*/true, 0);
  slots.piece_started(hinted);
  --slots.slot(hinted).reads_in_flight;
  slots.finish(hinted);
  load(slots, 16);  // Nobody named it.
  load(slots, 10);
  EXPECT_TRUE(holds(slots, 15));
  EXPECT_FALSE(holds(slots, 16));
}

TEST_F(SlotTableTest, StopsAsManyHintsUnderWayAsSegmentsWait) {
  SlotTable slots = table(3);
  for (const uint32_t expert : {10u, 11u, 12u}) {
    const uint32_t slot = *slots.start({expert}, true, 0);
    slots.slot(slot).pieces.emplace_back();  // One more read to come.
    slots.piece_started(slot);
  }
  EXPECT_FALSE(slots.start({13}, false, 1).has_value());
  EXPECT_FALSE(slots.start({13}, false, 1).has_value());
  EXPECT_FALSE(holds(slots, 12));
  EXPECT_TRUE(holds(slots, 11));
  EXPECT_FALSE(slots.start({13}, false, 2).has_value());
  EXPECT_FALSE(holds(slots, 11));
  EXPECT_EQ(slots.loading(), 3u);
}

TEST_F(SlotTableTest, ExpertsStayOutOfSpineSlotsAndSpineMayUseAll) {
  SlotTable slots = table(4, 2);
  for (uint32_t expert = 10; expert < 15; ++expert) load(slots, expert);
  EXPECT_EQ(slots.evictions(), 3u);
  EXPECT_EQ(slots.in(SlotState::kEmpty).size(), 2u);
  for (uint32_t panel = 0; panel < 4; ++panel) {
    EXPECT_TRUE(slots.start({panel}, false, 0).has_value());
  }
  EXPECT_EQ(slots.evictions(), 5u);
}

TEST_F(SlotTableTest, PinnedSegmentsHaveMemoryOfTheirOwn) {
  SlotTable slots = table(1, 0, {{3}, {12}});
  EXPECT_EQ(slots.memory_bytes(), 3 * kBlock);
  load(slots, 3);
  load(slots, 12);
  for (const uint32_t other : {10u, 0u, 11u}) load(slots, other);
  EXPECT_TRUE(holds(slots, 3) && holds(slots, 12) && holds(slots, 11));
  EXPECT_EQ(slots.slot(slots.find({3})).memory_offset, kBlock);
  EXPECT_EQ(slots.slot(slots.find({12})).memory_offset, 2 * kBlock);
}

}  // namespace
}  // namespace sluice::stream
