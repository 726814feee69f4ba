// Without this test a wrong byte, a lost slot or a wait without end in the streaming of weights
// goes unseen.
#include "stream/weight_streamer.h"

#include "base/error.h"
#include "stream/test_segments.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using format::SegmentKind;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kBlock = io::kBlockBytes;

std::vector<SegmentId> ids(std::initializer_list<uint32_t> values) {
  std::vector<SegmentId> result;
  for (const uint32_t value : values) result.push_back({value});
  return result;
}

/// Spine segments 0 .. spine - 1, then experts; a streamer over them. Reads are of one block.
struct World {
  World(size_t spine, size_t experts, StreamerOptions options, uint64_t seed = 1,
        uint64_t gap = kBlock, double fault_chance = 0, uint64_t piece_bytes = kBlock,
        uint32_t copies = 1) {
    model.gap = gap;
    model.copies = copies;
    model.add(SegmentKind::kSpine, spine, 3 * kBlock + 77);
    model.add(SegmentKind::kExpert, experts, 2 * kBlock + 5, 2);
    drives = model.make_drives(seed, options.own_thread, fault_chance);
    options.slot_bytes = model.largest();
    placement = std::make_unique<format::Placement>(model.placement(piece_bytes));
    streamer = std::make_unique<WeightStreamer>(*placement, *drives, options);
  }

  /// Takes and gives back all of a request, in order of arrival.
  std::vector<uint32_t> run(const std::vector<SegmentId>& wanted) {
    std::vector<uint32_t> order;
    SegmentBatch batch = streamer->request(wanted);
    while (std::optional<ArrivedSegment> arrived = batch.next()) {
      EXPECT_TRUE(holds(model.segments[arrived->id.value], arrived->bytes.get()));
      order.push_back(arrived->id.value);
    }
    return order;
  }

  /// Reads that were started for a segment.
  size_t reads_of(uint32_t segment) const {
    const std::vector<io::SimRead> reads = drives->history();
    return static_cast<size_t>(std::ranges::count_if(reads, [&](const io::SimRead& read) {
      return std::ranges::any_of(
          model.segments[segment].extents, [&](const format::Extent& extent) {
            return read.file.value % model.contents.size() == extent.shard.value &&
                   read.offset < extent.offset + extent.bytes &&
                   read.offset + read.bytes > extent.offset;
          });
    }));
  }

  TestSegments model;
  std::unique_ptr<io::SimDrives> drives;
  std::unique_ptr<format::Placement> placement;
  std::unique_ptr<WeightStreamer> streamer;
};

StreamerOptions stepping(uint64_t slots) {
  return {.slots = slots, .pinned = {}, .own_thread = false};
}

class WithAndWithoutThread : public testing::TestWithParam<bool> {
 protected:
  static StreamerOptions options(uint64_t slots) {
    StreamerOptions result = stepping(slots);
    result.own_thread = GetParam();
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(OwnThread, WithAndWithoutThread, testing::Bool());

TEST_P(WithAndWithoutThread, DeliversEveryByteOfABatchThatIsLargerThanTheSlots) {
  World world(3, 12, options(4));
  std::vector<SegmentId> all;
  for (uint32_t i = 0; i < 15; ++i) all.push_back({i});
  std::vector<uint32_t> order = world.run(all);
  std::ranges::sort(order);
  for (uint32_t i = 0; i < 15; ++i) EXPECT_EQ(order.at(i), i);
  const StreamerCounters counters = world.streamer->counters();
  EXPECT_EQ(counters.spine_misses, 3u);
  EXPECT_EQ(counters.expert_misses, 12u);
  EXPECT_EQ(counters.spine_bytes_read, 3 * (3 * kBlock + 77));
  EXPECT_EQ(counters.expert_bytes_read, 12 * 2 * (2 * kBlock + 5));
  EXPECT_GT(counters.device_bytes_read, counters.spine_bytes_read + counters.expert_bytes_read);
}

TEST_P(WithAndWithoutThread, TellsWhatItHolds) {
  World world(1, 6, options(3));
  EXPECT_THAT(world.streamer->held({0}, 7), testing::Each(false));
  world.run(ids({2, 5}));
  EXPECT_THAT(world.streamer->held({1}, 6),
              testing::ElementsAre(false, true, false, false, true, false));
  EXPECT_THAT(world.streamer->held({5}, 1), testing::ElementsAre(true));
  EXPECT_TRUE(world.streamer->held({7}, 0).empty());
}

TEST_P(WithAndWithoutThread, AnIdNamedTwiceIsHandedOutTwice) {
  World world(0, 3, options(2));
  EXPECT_EQ(world.run(ids({0, 1, 0, 2, 0})).size(), 5u);
  EXPECT_TRUE(world.run({}).empty());
}

TEST_P(WithAndWithoutThread, TwoBatchesShareASegmentInEitherOrder) {
  World world(0, 6, options(3));
  SegmentBatch first = world.streamer->request(ids({0, 1, 2, 3, 4}));
  SegmentBatch second = world.streamer->request(ids({1, 2, 5}));
  // The second one first: it gets slots that were promised to the first, which reads again.
  size_t seen = 0;
  while (std::optional<ArrivedSegment> arrived = second.next()) {
    EXPECT_TRUE(holds(world.model.segments[arrived->id.value], arrived->bytes.get()));
    ++seen;
  }
  while (std::optional<ArrivedSegment> arrived = first.next()) {
    EXPECT_TRUE(holds(world.model.segments[arrived->id.value], arrived->bytes.get()));
    ++seen;
  }
  EXPECT_EQ(seen, 8u);
}

TEST(WeightStreamerThreads, AnyThreadMayGiveBytesBack) {
  StreamerOptions options = stepping(2);
  options.own_thread = true;
  World world(0, 40, options);
  std::vector<SegmentId> all;
  for (uint32_t i = 0; i < 40; ++i) all.push_back({i});
  SegmentBatch batch = world.streamer->request(all);
  size_t seen = 0;
  while (std::optional<ArrivedSegment> arrived = batch.next()) {
    ++seen;
    std::thread([bytes = std::move(arrived->bytes)]() mutable { bytes.reset(); }).join();
  }
  EXPECT_EQ(seen, 40u);
}

TEST(WeightStreamerCache, EvictsTheExpertUsedLongestAgo) {
  World world(0, 5, stepping(3));
  for (const uint32_t expert : {0u, 1u, 2u, 0u, 3u}) world.run({{expert}});  // 1 makes room for 3.
  EXPECT_EQ(world.streamer->counters().evictions, 1u);
  for (const uint32_t expert : {0u, 2u, 3u}) world.run({{expert}});
  EXPECT_EQ(world.streamer->counters().expert_hits, 4u);
  EXPECT_EQ(world.streamer->counters().expert_misses, 4u);
  // What is there already is held before anything absent takes a slot: 0 is the oldest, yet stays.
  world.run(ids({4, 0}));
  EXPECT_EQ(world.streamer->counters().expert_hits, 5u);
}

TEST(WeightStreamerCache, GivesUpSpineSegmentsBeforeExperts) {
  World world(4, 2, stepping(3));
  world.run(ids({4, 5}));
  for (const uint32_t panel : {0u, 1u, 2u, 3u, 0u}) world.run({{panel}});
  EXPECT_EQ(world.streamer->counters().evictions, 0u);
  EXPECT_EQ(world.streamer->counters().spine_misses, 5u);
  world.run(ids({4, 5}));
  EXPECT_EQ(world.streamer->counters().expert_hits, 2u);
}

TEST(WeightStreamerCache, WaitingExpertsLeaveSpineSlotsAlone) {
  StreamerOptions options = stepping(5);
  options.spine_slots = 2;
  World world(6, 20, options);
  std::vector<SegmentId> experts;
  for (uint32_t i = 6; i < 26; ++i) experts.push_back({i});
  SegmentBatch batch = world.streamer->request(experts);
  // One expert is taken so that reads go on while panels come and go.
  const std::optional<ArrivedSegment> held = batch.next();
  for (const uint32_t panel : {0u, 1u, 2u, 3u, 4u, 5u}) world.run({{panel}});
  for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(world.reads_of(i), 4u) << i;
  size_t seen = 1;
  while (batch.next()) ++seen;
  EXPECT_EQ(seen, 20u);
  for (uint32_t i = 6; i < 26; ++i) EXPECT_LE(world.reads_of(i), 6u) << i;  // None was read twice.
  EXPECT_EQ(world.streamer->counters().expert_bytes_read, 20 * 2 * (2 * kBlock + 5));
}

TEST(WeightStreamerCache, PinnedSegmentsAreReadOnce) {
  StreamerOptions options = stepping(1);
  options.pinned = ids({1, 2});
  World world(3, 2, options);
  EXPECT_EQ(world.streamer->reserved_bytes(), world.model.largest() +
                                                  world.model.segments[1].memory_bytes +
                                                  world.model.segments[2].memory_bytes);
  world.streamer->hint(ids({2}));
  for (int pass = 0; pass < 3; ++pass) {
    for (const uint32_t id : {0u, 1u, 2u, 3u, 4u}) world.run({{id}});
  }
  EXPECT_EQ(world.reads_of(1), 4u);
  EXPECT_EQ(world.reads_of(2), 4u);
  EXPECT_GE(world.streamer->counters().spine_hits, 4u);  // The hint may have won its race.
  EXPECT_EQ(world.streamer->counters().hint_hits, 1u);
  // A pinned segment needs no slot, so one that is taken does not keep it from arriving.
  SegmentBatch slot = world.streamer->request(ids({4}));
  const std::optional<ArrivedSegment> held = slot.next();
  EXPECT_EQ(world.run(ids({1, 2})).size(), 2u);
}

TEST(WeightStreamerHints, ARightHintIsReadOnceAndItsRequestGoesFirst) {
  StreamerOptions options = stepping(4);
  options.bytes_in_flight = kBlock;
  World world(0, 4, options);
  world.streamer->hint(ids({0, 1, 2}));
  EXPECT_EQ(world.drives->history().size(), 1u);
  EXPECT_EQ(world.run(ids({2, 3})).size(), 2u);
  // Of the hints only what had started was read before the request was done.
  EXPECT_EQ(world.reads_of(2), 6u);
  EXPECT_EQ(world.reads_of(3), 6u);
  EXPECT_LE(world.reads_of(0), 2u);
  EXPECT_EQ(world.reads_of(1), 0u);
  EXPECT_EQ(world.run(ids({0, 1, 2})).size(), 3u);
  for (const uint32_t expert : {0u, 1u, 2u}) EXPECT_EQ(world.reads_of(expert), 6u);
  const StreamerCounters counters = world.streamer->counters();
  EXPECT_EQ(counters.hints_started, 3u);
  EXPECT_EQ(counters.hint_hits, 3u);
  EXPECT_EQ(counters.expert_hits, 1u);
}

TEST(WeightStreamerHints, AWrongHintGivesItsSlotUp) {
  StreamerOptions options = stepping(2);
  options.bytes_in_flight = kBlock;
  World world(0, 4, options);
  world.streamer->hint(ids({0, 1}));  // Of the first hint one read has started, of the second none.
  EXPECT_EQ(world.run(ids({2, 3})).size(), 2u);
  EXPECT_EQ(world.reads_of(0), 1u);
  EXPECT_EQ(world.reads_of(1), 0u);
  EXPECT_EQ(world.streamer->counters().hint_hits, 0u);
  EXPECT_EQ(world.run(ids({0, 1})).size(), 2u);
}

TEST(WeightStreamerHints, ALaterOneTakesThePlaceOfWhatHasNotBegun) {
  StreamerOptions options = stepping(4);
  options.bytes_in_flight = kBlock;
  World world(0, 4, options);
  world.streamer->hint(ids({0, 1}));
  EXPECT_TRUE(world.streamer->holds({0}) && world.streamer->holds({1}));
  world.streamer->hint(ids({2}));
  EXPECT_TRUE(world.streamer->holds({0})) << "its first read is under way";
  EXPECT_FALSE(world.streamer->holds({1}));
  EXPECT_TRUE(world.streamer->holds({2}));
}

TEST(WeightStreamerHints, CountsTheirBytesAndThoseThatWereOfUse) {
  StreamerOptions options = stepping(4);
  options.bytes_in_flight = kBlock;
  World world(0, 4, options);
  constexpr uint64_t kExpert = 2 * (2 * kBlock + 5);
  const auto expect = [&](uint64_t missed, uint64_t read, uint64_t used) {
    const StreamerCounters counters = world.streamer->counters();
    EXPECT_EQ(counters.expert_bytes_missed, missed);
    EXPECT_EQ(counters.hint_bytes_read, read);
    EXPECT_EQ(counters.hint_bytes_used, used);
  };
  world.streamer->hint(ids({0}));
  expect(0, kBlock, 0);
  world.run(ids({0}));  // It would have been missed without the hint.
  expect(kExpert, kBlock, kBlock);
  world.run(ids({0}));
  expect(kExpert, kBlock, kBlock);
  world.run(ids({1}));
  expect(2 * kExpert, kBlock, kBlock);
  world.streamer->hint(ids({2}));  // Nobody asks for it.
  world.run(ids({1}));
  expect(2 * kExpert, 2 * kBlock, kBlock);
}

TEST(WeightStreamerHints, LeaveRecentExpertsAlone) {
  World world(0, 8, stepping(4));
  world.run(ids({0, 1}));
  world.run(ids({2, 3}));
  world.streamer->hint(ids({4}));  // 0 and 1 belong to the round before the current one.
  EXPECT_EQ(world.streamer->counters().hints_started, 0u);
  world.run(ids({2, 3}));
  world.streamer->hint(ids({4, 5, 6}));  // 0 and 1 are old now; 2 and 3 are not.
  EXPECT_EQ(world.streamer->counters().hints_started, 2u);
  world.run(ids({2, 3}));
  EXPECT_EQ(world.streamer->counters().expert_hits, 4u);
}

TEST(WeightStreamerHints, TakeNothingWhileARequestWaits) {
  World world(0, 6, stepping(2));
  SegmentBatch batch = world.streamer->request(ids({0, 1, 2}));
  world.streamer->hint(ids({4}));
  EXPECT_EQ(world.streamer->counters().hints_started, 0u);
}

TEST(WeightStreamerReads, TheWindowHoldsAndOneReadIsAlwaysAllowed) {
  for (const uint64_t window : {uint64_t{1}, kBlock, 3 * kBlock, 100 * kBlock}) {
    StreamerOptions options = stepping(4);
    options.bytes_in_flight = window;
    World world(4, 4, options);
    world.run(ids({0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_LE(world.drives->bytes_in_flight_max(), std::max(window, kBlock));
    EXPECT_EQ(world.drives->bytes_in_flight(), 0u);
  }
}

TEST(WeightStreamerReads, WaitingTimeIsThatOfTheDrives) {
  World world(0, 2, stepping(2));
  const Nanos before = world.drives->now();
  world.run(ids({0}));
  const auto passed = static_cast<uint64_t>((world.drives->now() - before).count());
  EXPECT_GT(passed, 0u);
  EXPECT_EQ(world.streamer->counters().waiting_ns, passed);
  world.run(ids({0}));
  EXPECT_EQ(world.streamer->counters().waiting_ns, passed);
}

TEST(WeightStreamerReads, ADroppedBatchStopsReading) {
  StreamerOptions options = stepping(3);
  options.bytes_in_flight = kBlock;
  World world(0, 8, options);
  {
    SegmentBatch batch = world.streamer->request(ids({0, 1, 2, 3, 4}));
    ASSERT_TRUE(batch.next().has_value());
  }
  EXPECT_EQ(world.run(ids({5, 6, 7})).size(), 3u);
  EXPECT_EQ(world.reads_of(3) + world.reads_of(4), 0u);
  EXPECT_LE(world.reads_of(2), 1u);
  // A batch that another one replaces is dropped too.
  SegmentBatch batch = world.streamer->request(ids({0, 1, 2}));
  batch = world.streamer->request(ids({1}));
  EXPECT_TRUE(batch.next().has_value());
  EXPECT_FALSE(batch.next().has_value());
  batch = SegmentBatch();
  EXPECT_FALSE(batch.next().has_value());
}

TEST(WeightStreamerReads, TheEndWaitsForReadsUnderWay) {
  World world(0, 3, stepping(3));
  {
    const SegmentBatch dropped = world.streamer->request(ids({0, 1, 2}));
  }
  EXPECT_GT(world.drives->bytes_in_flight(), 0u);
  world.streamer.reset();
  EXPECT_EQ(world.drives->bytes_in_flight(), 0u);
}

/// Fails the first read of an extent a number of times.
io::SimFault fail(const format::Extent& extent, uint32_t times, io::SimOutcome outcome) {
  return {
      .file = {extent.shard.value}, .offset = extent.offset, .outcome = outcome, .times = times};
}

constexpr std::array kFailures{io::SimOutcome::kError, io::SimOutcome::kShort};

TEST_P(WithAndWithoutThread, AReadThatFailsOnceIsTriedAgain) {
  for (const io::SimOutcome outcome : kFailures) {
    World world(2, 4, options(3));
    const format::Extent& extent = world.model.segments[1].extents[0];
    world.drives->add_fault(fail(extent, 1, outcome));
    EXPECT_EQ(world.run(ids({0, 1, 2, 3, 4})).size(), 5u);
    EXPECT_EQ(world.streamer->counters().retries, 1u);
  }
}

TEST_P(WithAndWithoutThread, AReadThatFailsTwiceLosesOneSegmentAndNothingElse) {
  for (const io::SimOutcome outcome : kFailures) {
    World world(2, 6, options(3));
    const format::Extent& extent = world.model.segments[4].extents[1];
    const uint64_t block = extent.offset / kBlock * kBlock;
    world.drives->add_fault(fail(extent, 2, outcome));
    SegmentBatch first = world.streamer->request(ids({3, 4, 5}));
    SegmentBatch second = world.streamer->request(ids({4}));
    size_t seen = 0;
    std::string message;
    for (bool more = true; more;) {
      try {
        const std::optional<ArrivedSegment> arrived = first.next();
        more = arrived.has_value();
        seen += arrived.has_value();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kIo);
        message = error.what();
      }
    }
    EXPECT_EQ(seen, 2u);
    EXPECT_THAT(message, AllOf(HasSubstr(world.drives->path({extent.shard.value})),
                               HasSubstr(std::to_string(block)), HasSubstr("segment 4"),
                               HasSubstr("check")));
    // The own thread may lose the segment before the second request, which then reads it anew.
    if (!GetParam()) {
      EXPECT_THROW((void)second.next(), Error);
      EXPECT_FALSE(second.next().has_value());
    }
    second = SegmentBatch();
    EXPECT_EQ(world.run(ids({4, 6, 7})).size(), 3u);  // Read anew, with all slots in use.
  }
}

TEST(WeightStreamerErrors, AttemptsBeforeARequestDoNotCountAgainstIt) {
  uint64_t failed = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    World world(0, 2, stepping(2), seed, kBlock, 0, 8 * kBlock);
    const io::SimFault once = fail(world.model.segments[0].extents[0], 1, io::SimOutcome::kError);
    world.drives->add_fault(once);
    {
      SegmentBatch earlier = world.streamer->request(ids({0, 1}));
      if (earlier.next()->id != SegmentId{1} || world.streamer->counters().retries == 0) continue;
    }
    // The second attempt, under way for the request that was dropped, fails for this one.
    world.drives->add_fault(once);
    EXPECT_EQ(world.run(ids({0})).size(), 1u) << "seed " << seed;
    failed += world.streamer->counters().retries - 1;
  }
  EXPECT_GT(failed, 0u);
}

TEST(WeightStreamerErrors, APinnedSegmentThatWasLostIsReadAnew) {
  StreamerOptions options = stepping(1);
  options.pinned = ids({0});
  World world(1, 1, options);
  const format::Extent& extent = world.model.segments[0].extents[0];
  world.drives->add_fault(fail(extent, 2, io::SimOutcome::kError));
  EXPECT_THROW(world.run(ids({0})), Error);
  EXPECT_EQ(world.run(ids({0, 1})).size(), 2u);
}

TEST(WeightStreamerErrors, AHintThatFailsIsForgotten) {
  World world(0, 3, stepping(2));
  const format::Extent& extent = world.model.segments[0].extents[0];
  world.drives->add_fault(fail(extent, 2, io::SimOutcome::kError));
  world.streamer->hint(ids({0}));
  EXPECT_EQ(world.run(ids({1, 2})).size(), 2u);
  EXPECT_EQ(world.run(ids({0, 1, 2})).size(), 3u);
}

using WeightStreamerDeathTest = testing::Test;

TEST(WeightStreamerDeathTest, StopsWhenTakenBytesHoldEverySlot) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        World world(0, 3, stepping(2));
        SegmentBatch batch = world.streamer->request(ids({0, 1, 2}));
        std::vector<ArrivedSegment> held;
        for (int i = 0; i < 3; ++i) held.push_back(*batch.next());
      },
      "hold every slot");
}

TEST(WeightStreamerDeathTest, StopsWhenBytesOutliveIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        World world(0, 1, stepping(1));
        SegmentBatch batch = world.streamer->request(ids({0}));
        const std::optional<ArrivedSegment> held = batch.next();
        batch = SegmentBatch();
        world.streamer.reset();
      },
      "check failed");
}

/// A random history: batches of any size opened, taken from and dropped in any order, hints,
/// faults, few slots.
class RandomHistory {
 public:
  RandomHistory(uint64_t seed, bool own_thread) : random_(seed) {
    StreamerOptions options = stepping(2 + pick(8));
    options.spine_slots = pick(options.slots);  // Leaves experts at least one.
    options.own_thread = own_thread;
    options.bytes_in_flight = kBlock * (1 + pick(12));
    held_max_ = options.slots - options.spine_slots - 1;
    for (uint32_t i = 0; i < kSegments; ++i) {
      if (pick(8) == 0) options.pinned.push_back({i});
    }
    const uint64_t gap = pick(2) * kBlock;
    const double fault_chance = pick(2) == 0 ? 1.0 / static_cast<double>(2 + pick(30)) : 0;
    world_ = std::make_unique<World>(kSpine, kSegments - kSpine, options, seed, gap, fault_chance,
                                     kBlock * (1 + pick(3)), 1 + static_cast<uint32_t>(pick(3)));
  }

  void run() {
    for (int step = 0; step < 120; ++step) {
      const uint64_t what = pick(10);
      if (what == 0 && batches_.size() < 3) {
        const std::vector<SegmentId> wanted = random_ids(pick(14));
        for (const SegmentId id : wanted) ++wanted_of_next_[id.value];
        batches_.push_back({world_->streamer->request(wanted), std::move(wanted_of_next_)});
        wanted_of_next_.clear();
      } else if (what == 1) {
        world_->streamer->hint(random_ids(pick(6)));
      } else if (what == 2 && !batches_.empty() && pick(3) == 0) {
        batches_.erase(batches_.begin() + static_cast<ptrdiff_t>(pick(batches_.size())));
      } else if (what == 3 && !held_.empty()) {
        release(pick(held_.size()));
      } else if (!batches_.empty()) {
        take(pick(batches_.size()));
      }
    }
    while (!batches_.empty()) take(0);
    while (!held_.empty()) release(0);
    // The slots still work, and their end finds none in use.
    world_->drives->repair();
    for (uint32_t i = 0; i < kSegments; ++i) ASSERT_EQ(world_->run({{i}}).size(), 1u);
    world_->streamer.reset();
    ASSERT_EQ(world_->drives->bytes_in_flight(), 0u);
  }

 private:
  static constexpr uint32_t kSpine = 8, kSegments = 30;
  struct Open {
    SegmentBatch batch;
    std::map<uint32_t, int> wanted;  // What it has not handed out, by id.
  };

  uint64_t pick(uint64_t count) { return count == 0 ? 0 : random_() % count; }

  std::vector<SegmentId> random_ids(uint64_t count) {
    std::vector<SegmentId> result;
    for (uint64_t i = 0; i < count; ++i) result.push_back({static_cast<uint32_t>(pick(kSegments))});
    return result;
  }

  void take(uint64_t which) {
    Open& open = batches_[which];
    try {
      std::optional<ArrivedSegment> arrived = open.batch.next();
      if (!arrived) {
        for (const auto& [id, count] : open.wanted) ASSERT_LE(count, lost_[id]) << id;
        batches_.erase(batches_.begin() + static_cast<ptrdiff_t>(which));
        return;
      }
      ASSERT_GT(open.wanted[arrived->id.value]--, 0);
      ASSERT_TRUE(holds(world_->model.segments[arrived->id.value], arrived->bytes.get()));
      held_.push_back(std::move(*arrived));
      while (held_.size() > held_max_) release(0);
    } catch (const Error& error) {
      const std::string what = error.what();
      const size_t at = what.find("segment ");
      ASSERT_NE(at, std::string::npos) << what;
      ++lost_[static_cast<uint32_t>(std::stoul(what.substr(at + 8)))];
    }
  }

  // What is held must not have changed in the meantime.
  void release(uint64_t which) {
    const ArrivedSegment& segment = held_[which];
    EXPECT_TRUE(holds(world_->model.segments[segment.id.value], segment.bytes.get()));
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(which));
  }

  std::mt19937_64 random_;
  std::unique_ptr<World> world_;
  uint64_t held_max_ = 0;
  std::vector<Open> batches_;
  std::map<uint32_t, int> wanted_of_next_, lost_;
  std::vector<ArrivedSegment> held_;
};

TEST_P(WithAndWithoutThread, AnyHistoryDeliversEveryByte) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomHistory(seed, GetParam()).run();
    if (HasFatalFailure()) return;
  }
}

// As a reading thread does while the caller computes.
TEST(Streamer, ReadsWhileTimePasses) {
  World world(0, 4, stepping(4));
  const Nanos later = world.drives->now() + std::chrono::seconds(1);
  SegmentBatch batch = world.streamer->request(ids({0, 1, 2, 3}));
  world.streamer->run_until(later);
  EXPECT_EQ(world.drives->now(), later);
  for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(batch.next());
  EXPECT_EQ(world.streamer->counters().waiting_ns, 0u);
  world.streamer->run_until(later);  // That is now.
  EXPECT_EQ(world.drives->now(), later);
}

}  // namespace
}  // namespace sluice::stream
