// Without this test a slot given up in the wrong order costs speed or overwrites weights unseen.
#include "stream/slot_table.h"

#include "io/drive_array.h"

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using format::Segment;
using format::SegmentKind;

constexpr uint64_t kBlock = io::kBlockBytes;

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
    return SlotTable(
        segments_,
        {.slots = slots, .spine_slots = spine_slots, .slot_bytes = kBlock, .pinned = pinned});
  }

  /// Brings a segment in and leaves it idle.
  static void load(SlotTable& table, uint32_t segment) {
    const std::optional<uint32_t> slot = table.start({segment}, false, 0);
    ASSERT_TRUE(slot.has_value());
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
    slots.slot(slot).reads_in_flight = 1;  // And more to come.
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

TEST_F(SlotTableTest, ASegmentWhoseReadsHangGoesOnInAnotherSlot) {
  SlotTable slots = table(3);
  load(slots, 11);
  load(slots, 12);
  const uint32_t old = *slots.start({10}, false, 0);
  slots.add_waiter(old, 7);
  slots.slot(old).reads_in_flight = 1;
  const std::optional<uint32_t> fresh = slots.relocate(old);
  ASSERT_TRUE(fresh.has_value() && *fresh != old);
  EXPECT_EQ(slots.find({10}), *fresh);
  EXPECT_EQ(slots.slot(*fresh).waiters, std::vector<uint32_t>{7});
  EXPECT_EQ(slots.take_abandoned(), std::vector<uint32_t>{old});
  slots.slot(*fresh).waiters.clear();
  slots.finish(*fresh);
  EXPECT_EQ(slots.loading(), 1u) << "the old slot, until its read has ended";
  slots.slot(old).reads_in_flight = 0;
  slots.clear(old);
  EXPECT_EQ(slots.loading(), 0u);
  EXPECT_TRUE(holds(slots, 10));

  SlotTable full = table(1, 0, {{3}});
  const uint32_t pinned = *full.start({3}, false, 0);
  full.slot(pinned).reads_in_flight = 1;
  const std::optional<uint32_t> away = full.relocate(pinned);
  ASSERT_TRUE(away.has_value()) << "a pinned one, as long as its memory is not its own";
  full.finish(*away);
  EXPECT_TRUE(full.start({10}, false, 0).has_value()) << "it is given up as others are";
  EXPECT_FALSE(holds(full, 3));
  EXPECT_FALSE(full.start({3}, false, 0).has_value()) << "its old read still lands there";
  full.slot(pinned).reads_in_flight = 0;
  full.clear(pinned);
  EXPECT_EQ(full.start({3}, false, 0), pinned);
  EXPECT_FALSE(full.relocate(full.find({10})).has_value()) << "there is no other slot";
}

}  // namespace
}  // namespace sluice::stream
