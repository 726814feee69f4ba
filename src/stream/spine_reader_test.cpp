// Without this test the spine could be read in the wrong order, too late to overlap with computing,
// or past the end of a pass that nobody continues.
#include "stream/spine_reader.h"

#include "base/error.h"
#include "stream/test_segments.h"

#include <array>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using format::SegmentKind;

constexpr uint32_t kPanels = 8, kExperts = 12;
constexpr size_t kLookahead = 2;

/// Panels 0 .. 7 in pass order, of which `pinned` stay; experts 8 .. 19. Two slots for experts.
struct World {
  explicit World(std::vector<uint32_t> pinned_panels, uint64_t seed = 1, bool own_thread = false) {
    model.gap = io::kBlockBytes;
    model.add(SegmentKind::kSpine, kPanels, 5000);
    model.add(SegmentKind::kExpert, kExperts, 9000);
    drives = model.make_drives(seed, own_thread);
    placement = std::make_unique<format::Placement>(model.placement(1u << 20));
    std::vector<SegmentId> order;
    for (uint32_t panel = 0; panel < kPanels; ++panel) order.push_back({panel});
    std::vector<bool> pinned(kPanels);
    StreamerOptions options{.slots = 2 + kLookahead + 1,
                            .spine_slots = kLookahead + 1,
                            .slot_bytes = model.largest(),
                            .pinned = {},
                            .own_thread = own_thread};
    for (const uint32_t panel : pinned_panels) {
      pinned[panel] = true;
      options.pinned.push_back({panel});
    }
    streamer = std::make_unique<WeightStreamer>(*placement, *drives, options);
    spine = std::make_unique<SpineReader>(*streamer, order, pinned, kLookahead);
  }

  void take(uint32_t panel) {
    const PinnedBytes bytes = spine->take({panel});
    ASSERT_TRUE(holds(model.segments[panel], bytes.get())) << panel;
  }
  void take(uint32_t first, uint32_t end) {
    for (uint32_t panel = first; panel < end; ++panel) take(panel);
  }

  /// Whether a read of the panel has been started since `since` reads had.
  [[nodiscard]] bool started(uint32_t panel, size_t since = 0) const {
    const format::Extent& extent = model.segments[panel].extents[0];
    const std::vector<io::SimRead> reads = drives->history();
    return std::any_of(reads.begin() + static_cast<ptrdiff_t>(since), reads.end(),
                       [&](const io::SimRead& read) {
                         return read.file.value == extent.shard.value &&
                                read.offset == extent.offset / io::kBlockBytes * io::kBlockBytes;
                       });
  }
  [[nodiscard]] size_t reads() const { return drives->history().size(); }

  TestSegments model;
  std::unique_ptr<io::SimDrives> drives;
  std::unique_ptr<format::Placement> placement;
  std::unique_ptr<WeightStreamer> streamer;
  std::unique_ptr<SpineReader> spine;
};

TEST(SpineReader, ReadsAheadByTheLookaheadAndNoFurther) {
  World world({});
  world.take(0);
  EXPECT_TRUE(world.started(1) && world.started(2));
  EXPECT_FALSE(world.started(3));
  world.take(1);
  EXPECT_TRUE(world.started(3));
  EXPECT_FALSE(world.started(4));
}

TEST(SpineReader, CrossesTheEndOfAPassOnlyWhenAnotherIsExpected) {
  World world({});
  world.take(0, kPanels);
  const size_t reads = world.reads();
  EXPECT_FALSE(world.started(0, 1));
  world.take(0, 6);  // The next pass begins by itself.
  EXPECT_GT(world.reads(), reads);
  const size_t second = world.reads();
  world.spine->expect_another_pass(true);
  world.take(6);
  EXPECT_TRUE(world.started(0, second));
  EXPECT_FALSE(world.started(1, second));
  world.take(7);
  EXPECT_TRUE(world.started(1, second));
  world.take(0, kPanels - 1);
  // What was read ahead is dropped when no pass follows, and the order goes on.
  world.spine->expect_another_pass(false);
  world.take(kPanels - 1);
  world.take(0, kPanels);
}

TEST(SpineReader, PinnedPanelsAreReadOnceAndDoNotCountAsReadAhead) {
  World world({1, 2, 5});
  {  // With experts in the other slots, the spine slots alone cannot keep what streams.
    SegmentBatch experts = world.streamer->request(std::array{SegmentId{8}, SegmentId{9}});
    while (experts.next()) {
    }
  }
  world.take(0);
  EXPECT_TRUE(world.started(1) && world.started(2) && world.started(3));
  EXPECT_TRUE(world.started(4));  // The second that streams.
  world.take(1, kPanels);
  const size_t reads = world.reads();
  world.take(0, kPanels);
  for (const uint32_t panel : {1u, 2u, 5u}) EXPECT_FALSE(world.started(panel, reads));
  for (const uint32_t panel : {0u, 3u, 4u, 6u, 7u}) EXPECT_TRUE(world.started(panel, reads));
}

TEST(SpineReader, SkippedPanelsAreNotRead) {
  World world({});
  world.spine->skip({7});  // Said at the start of the pass, as for logits that nobody wants.
  world.take(0, 7);
  EXPECT_FALSE(world.started(7));
  world.take(0, 2);  // The pass before ended with panel 6.
  world.take(5);     // Leaves out 2, 3 and 4.
  world.spine->skip({6});
  world.take(7);
  world.take(0, kPanels);  // A skip holds for one pass.
  EXPECT_TRUE(world.started(7));
}

TEST(SpineReader, PeeksOnlyAtWhatIsThereForGood) {
  World world({2, 5});
  world.take(0, 2);
  for (const uint32_t panel : {2u, 3u, 5u}) EXPECT_FALSE(world.spine->resident({panel}));
  world.take(2, kPanels);
  const size_t reads = world.reads();
  world.take(0);
  EXPECT_TRUE(world.spine->resident({2}));
  EXPECT_TRUE(world.spine->resident({5}));
  EXPECT_FALSE(world.spine->resident({3})) << "it streams";
  {
    const PinnedBytes bytes = world.spine->peek({5});
    EXPECT_TRUE(holds(world.model.segments[5], bytes.get()));
  }
  for (const uint32_t panel : {2u, 5u}) EXPECT_FALSE(world.started(panel, reads));
  world.take(1, kPanels);  // The order goes on as if nothing had been.
}

TEST(SpineReader, APassThatFailedIsFollowedByAWholeOne) {
  World world({3});
  const format::Extent& extent = world.model.segments[4].extents[0];
  world.drives->add_fault({.file = {extent.shard.value}, .offset = extent.offset, .times = 2});
  world.take(0, 4);
  EXPECT_THROW((void)world.spine->take({4}), Error);
  world.spine->reset();
  world.take(0, kPanels);
  world.spine->reset();  // At the start of a pass it changes nothing.
  world.take(0, kPanels);
}

TEST(SpineReader, APassThatFailedBeforeItBeganForgetsItsSkips) {
  World world({3});
  world.spine->skip({7});
  world.spine->reset();
  world.spine->skip({7});
  world.spine->reset();
  world.take(0, kPanels);
}

TEST(SpineReader, AnUntakenBatchOfExpertsDoesNotDelayIt) {
  World world({});
  world.take(0);
  std::vector<SegmentId> experts;
  for (uint32_t i = 0; i < kExperts; ++i) experts.push_back({kPanels + i});
  SegmentBatch batch = world.streamer->request(experts);
  world.take(1, kPanels);
  size_t seen = 0;
  while (const std::optional<ArrivedSegment> arrived = batch.next()) ++seen;
  EXPECT_EQ(seen, kExperts);
  // Neither side read anything twice.
  EXPECT_EQ(world.streamer->counters().spine_bytes_read, kPanels * 5000u);
  EXPECT_EQ(world.streamer->counters().expert_bytes_read, kExperts * 9000u);
}

TEST(SpineReaderDeathTest, StopsWhenPanelsAreTakenOutOfOrder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        World world({});
        world.take(3);
        world.take(2);
      },
      "check failed");
}

TEST(SpineReader, AnyHistoryDeliversEveryByte) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<uint32_t> pinned;
    for (uint32_t panel = 0; panel < kPanels; ++panel) {
      if (random() % 3 == 0) pinned.push_back(panel);
    }
    World world(pinned, seed, seed % 2 == 0);
    for (int pass = 0; pass < 6; ++pass) {
      world.spine->expect_another_pass(random() % 2 == 0);
      for (uint32_t panel = 0; panel < kPanels; ++panel) {
        if (random() % 8 == 0) {
          world.spine->skip({panel});
          continue;
        }
        if (random() % 40 == 0) break;
        world.take(panel);
        if (HasFatalFailure()) return;
        if (random() % 3 != 0) continue;
        SegmentBatch experts = world.streamer->request(
            std::array{SegmentId{kPanels + static_cast<uint32_t>(random() % kExperts)}});
        ASSERT_TRUE(experts.next().has_value());
      }
      world.spine->reset();
    }
    world.spine.reset();
    world.streamer.reset();
    ASSERT_EQ(world.drives->bytes_in_flight(), 0u);
  }
}

}  // namespace
}  // namespace sluice::stream
