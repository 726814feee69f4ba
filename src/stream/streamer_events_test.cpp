// Without this test a trace could tell of other reads, waits and waste than the program counts.
#include "stream/test_segments.h"
#include "stream/weight_streamer.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using format::SegmentKind;

constexpr uint32_t kSpine = 6, kExperts = 40;

/// What was told, as counters.
struct Told {
  StreamerCounters sums;
  uint64_t round = 0, reads = 0;
  Nanos last{};

  void add(const ReadRecord& record) {
    ++reads;
    if (record.ended.outcome == ReadOutcome::kGood) {
      sums.device_bytes_read += record.ended.read.bytes;
    }
    later(record.ended.ended);
  }
  void add(const RequestRecord& record) {
    EXPECT_EQ(record.round, ++round);
    EXPECT_GE(record.first.value, kSpine);
    sums.expert_hits += record.experts - record.missed;
    sums.expert_misses += record.missed;
    sums.expert_bytes_missed += record.bytes_missed;
    later(record.at);
  }
  void add(const WaitRecord& record) {
    EXPECT_EQ(record.round, round);
    sums.waiting_ns += static_cast<uint64_t>(record.duration.count());
    later(record.started + record.duration);
  }
  void add(const WasteRecord& record) {
    EXPECT_EQ(record.round, round);
    EXPECT_GT(record.bytes, 0u);
    sums.hint_bytes_wasted += record.bytes;
    later(record.at);
  }
  // Everything is told when it ends.
  void later(Nanos now) {
    EXPECT_GE(now, last);
    last = now;
  }
};

/// A random history of requests that mix both kinds, and of hints that are often wrong.
void run_history(uint64_t seed, StreamerCounters& all) {
  std::mt19937_64 random(seed);
  TestSegments model;
  model.copies = 2;
  model.add(SegmentKind::kSpine, kSpine, 9000);
  model.add(SegmentKind::kExpert, kExperts, 6000, 2);
  const auto drives = model.make_drives(seed, /*own_thread=*/false, seed % 3 == 0 ? 0.02 : 0);
  const format::Placement placement = model.placement(4096);
  Told told;
  StreamerOptions options{
      .slots = 12, .spine_slots = 3, .slot_bytes = model.largest(), .pinned = {}};
  options.own_thread = false;
  options.on_event = [&told](const StreamerEvent& event) {
    std::visit([&told](const auto& record) { told.add(record); }, event);
  };
  WeightStreamer streamer(placement, *drives, options);
  const auto pick = [&](uint32_t first, uint32_t count, size_t number) {
    std::vector<SegmentId> ids;
    for (size_t i = 0; i < number; ++i) {
      ids.push_back({first + static_cast<uint32_t>(random() % count)});
    }
    return ids;
  };
  for (int step = 0; step < 60; ++step) {
    std::vector<SegmentId> wanted = pick(kSpine, kExperts, random() % 5);
    if (random() % 2 == 0) wanted.push_back({static_cast<uint32_t>(random() % kSpine)});
    SegmentBatch batch = streamer.request(wanted);
    streamer.hint(pick(kSpine, kExperts, 4));
    while (batch.next()) continue;
    streamer.run_until(drives->now() + std::chrono::microseconds(random() % 500));
  }
  const StreamerCounters counters = streamer.counters();
  EXPECT_EQ(told.sums.device_bytes_read, counters.device_bytes_read);
  EXPECT_EQ(told.sums.expert_hits, counters.expert_hits);
  EXPECT_EQ(told.sums.expert_misses, counters.expert_misses);
  EXPECT_EQ(told.sums.expert_bytes_missed, counters.expert_bytes_missed);
  EXPECT_EQ(told.sums.waiting_ns, counters.waiting_ns);
  EXPECT_EQ(told.sums.hint_bytes_wasted, counters.hint_bytes_wasted);
  uint64_t ended = 0;
  for (const DriveCounters& drive : streamer.drive_counters()) {
    for (const uint64_t outcome : drive.outcomes) ended += outcome;
  }
  EXPECT_EQ(told.reads, ended);
  all.waiting_ns += counters.waiting_ns;
  all.hint_bytes_wasted += counters.hint_bytes_wasted;
  all.retries += counters.retries;
}

TEST(StreamerEvents, SumToTheCounters) {
  StreamerCounters all;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    run_history(seed, all);
    if (HasFailure()) return;
  }
  EXPECT_GT(all.waiting_ns, 0u);
  EXPECT_GT(all.hint_bytes_wasted, 0u);
  EXPECT_GT(all.retries, 0u);
}

}  // namespace
}  // namespace sluice::stream
