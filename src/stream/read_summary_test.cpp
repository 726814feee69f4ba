// Without these tests a report could blame the wrong drive for the waiting.
#include "stream/read_summary.h"

#include "stream/reading_counters.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Drives 0, 1 and 2 with one file each.
format::ReadTraceHeader three_drives() {
  format::ReadTraceHeader header{.drives = {"a", "b", "c"},
                                 .files = {{{0}, "a/1"}, {{1}, "b/1"}, {{2}, "c/1"}},
                                 .panels = {"p"}};
  for (size_t p = 0; p < kPriorities; ++p) {
    header.priorities.emplace_back(name(static_cast<Priority>(p)));
  }
  for (size_t o = 0; o < kReadOutcomes; ++o) {
    header.outcomes.emplace_back(name(static_cast<ReadOutcome>(o)));
  }
  return header;
}

struct Spec {
  uint64_t round;
  uint16_t drive;
  int64_t start, end;
  Priority priority = Priority::kExpert;
  ReadOutcome outcome = ReadOutcome::kGood;
};

format::TraceEvents block_of(const std::vector<Spec>& specs) {
  format::TraceEvents block;
  for (const Spec& s : specs) {
    block.reads.entries.push_back({.started = Nanos(s.start),
                                   .duration = Nanos(s.end - s.start),
                                   .round = s.round,
                                   .bytes = 4096,
                                   .file = {s.drive},
                                   .priority = static_cast<uint8_t>(s.priority),
                                   .outcome = static_cast<uint8_t>(s.outcome),
                                   .retry = s.outcome != ReadOutcome::kGood});
  }
  return block;
}

TEST(ReadSummary, FindsTheDriveThatABarrierWaitedFor) {
  struct Case {
    const char* name;
    std::vector<Spec> reads;
    std::vector<uint64_t> last;
    std::vector<int64_t> behind;
  };
  for (const Case& c : {
           Case{"none", {}, {0, 0, 0}, {0, 0, 0}},
           Case{"one drive is behind nobody", {{1, 1, 0, 9}}, {0, 1, 0}, {0, 0, 0}},
           Case{"behind the second, not the first",
                {{1, 0, 0, 5}, {1, 1, 0, 7}, {1, 2, 0, 20}},
                {0, 0, 1},
                {0, 0, 13}},
           Case{"its last read counts",
                {{1, 0, 0, 5}, {1, 1, 0, 7}, {1, 0, 5, 8}},
                {1, 0, 0},
                {1, 0, 0}},
           Case{"rounds add up",
                {{1, 0, 0, 5}, {1, 1, 0, 7}, {3, 1, 10, 15}, {3, 0, 10, 16}, {4, 0, 16, 20}},
                {2, 1, 0},
                {1, 2, 0}},
           Case{"nobody waits for hints, the spine and bad reads",
                {{1, 0, 0, 5},
                 {1, 1, 0, 7, Priority::kHint},
                 {1, 1, 0, 8, Priority::kSpine},
                 {1, 2, 0, 9, Priority::kExpert, ReadOutcome::kShort}},
                {1, 0, 0},
                {0, 0, 0}},
       }) {
    const format::ReadTraceHeader header = three_drives();
    ReadSummary summary(header);
    // As two blocks, for a barrier goes on from one to the next.
    const std::ptrdiff_t half = std::ssize(c.reads) / 2;
    summary.add(block_of({c.reads.begin(), c.reads.begin() + half}));
    summary.add(block_of({c.reads.begin() + half, c.reads.end()}));
    const std::vector<DriveReads> drives = summary.drives();
    uint64_t barriers = 0;
    for (size_t d = 0; d < drives.size(); ++d) {
      EXPECT_EQ(drives[d].last, c.last[d]) << c.name << ", drive " << d;
      EXPECT_EQ(drives[d].behind, Nanos(c.behind[d])) << c.name << ", drive " << d;
      barriers += c.last[d];
    }
    EXPECT_EQ(summary.barriers(), barriers) << c.name;
  }
}

TEST(ReadSummary, SumsByDrive) {
  const format::ReadTraceHeader header = three_drives();
  ReadSummary summary(header);
  std::vector<Spec> reads;
  for (int64_t i = 1; i <= 200; ++i) reads.push_back({1, 1, 1000, 1000 + i});
  reads.push_back({1, 1, 900, 9000, Priority::kHint, ReadOutcome::kIoError});
  reads.push_back({1, 0, 950, 960, Priority::kSpine});
  format::TraceEvents block = block_of(reads);
  block.reads.lost = 3;
  summary.add(block);
  EXPECT_EQ(summary.reads(), 202u);
  EXPECT_EQ(summary.reads_lost(), 3u);
  EXPECT_EQ(summary.others_lost(), 0u);
  EXPECT_EQ(summary.retries(), 1u);
  EXPECT_EQ(summary.span().begin, Nanos(900));
  EXPECT_EQ(summary.span().end, Nanos(9000));
  const std::vector<DriveReads> drives = summary.drives();
  EXPECT_THAT(drives[0].bytes, ElementsAre(4096, 0, 0, 0));
  EXPECT_THAT(drives[1].bytes, ElementsAre(0, 200 * 4096, 0, 0));
  EXPECT_THAT(drives[1].reads, ElementsAre(200, 1, 0, 0, 0, 0));
  EXPECT_EQ(drives[1].p50, Nanos(100));
  EXPECT_EQ(drives[1].p99, Nanos(198));
  EXPECT_EQ(drives[2].p99, Nanos(0));
}

// Two layers of four experts each, behind one panel.
format::ReadTraceHeader two_layers() {
  format::ReadTraceHeader header = three_drives();
  header.experts = {{.layer = 1, .first = {1}, .count = 4}, {.layer = 3, .first = {5}, .count = 4}};
  return header;
}

TEST(ReadSummary, DividesTimeAmongLayers) {
  const format::ReadTraceHeader header = two_layers();
  ReadSummary summary(header);
  summary.add(
      {.requests = {{{.at = Nanos(100),
                      .round = 1,
                      .bytes_missed = 70,
                      .first = {2},
                      .experts = 3,
                      .missed = 2},
                     {.at = Nanos(200), .round = 2, .first = {5}, .experts = 3},
                     {.at = Nanos(350), .round = 3, .first = {1}, .experts = 2, .missed = 1}}},
       .waits = {{{Nanos(20), Nanos(30), 0, {0}},   // Before the first layer.
                  {Nanos(110), Nanos(40), 1, {3}},  // For an expert,
                  {Nanos(160), Nanos(10), 1, {0}},  // and for the next layer's panel.
                  {Nanos(210), Nanos(5), 2, {6}}}}});
  summary.add({.waits = {{{Nanos(360), Nanos(7), 3, {1}}}}});
  EXPECT_EQ(summary.waiting().experts, Nanos(40 + 5 + 7));
  EXPECT_EQ(summary.waiting().spine, Nanos(30 + 10));
  EXPECT_EQ(summary.waiting().waits, 5u);
  EXPECT_THAT(summary.passes(), ElementsAre(Nanos(100), Nanos(350)));
  EXPECT_EQ(summary.span().begin, Nanos(20));
  EXPECT_EQ(summary.span().end, Nanos(367));
  const std::vector<LayerReads> layers = summary.layers();
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].requests, 2u);
  EXPECT_EQ(layers[0].experts, 5u);
  EXPECT_EQ(layers[0].missed, 3u);
  EXPECT_EQ(layers[0].bytes_missed, 70u);
  EXPECT_EQ(layers[0].time, Nanos(100));  // Of the last request it is not known.
  EXPECT_EQ(layers[0].waiting_experts, Nanos(47));
  EXPECT_EQ(layers[0].waiting_spine, Nanos(10));
  EXPECT_EQ(layers[1].time, Nanos(150));
  EXPECT_EQ(layers[1].waiting_experts, Nanos(5));
}

TEST(ReadSummary, KnowsWhichDriveReadWhatWasGivenUp) {
  const format::ReadTraceHeader header = two_layers();
  ReadSummary summary(header);
  const auto hint = [](uint32_t segment, uint16_t drive, int64_t at) {
    format::TraceEvents events = block_of({{1, drive, at, at + 1, Priority::kHint}});
    events.reads.entries[0].segment = {segment};
    return events;
  };
  // It was used, given up later, and hinted again.
  summary.add(hint(6, 0, 0));
  summary.add(hint(6, 1, 10));
  summary.add(hint(6, 2, 11));
  summary.add(hint(2, 0, 12));
  summary.add({.wastes = {{{Nanos(20), 1, 2 * 4096, {6}}}}});
  const std::vector<DriveReads> drives = summary.drives();
  EXPECT_EQ(drives[0].bytes_wasted, 0u);
  EXPECT_EQ(drives[1].bytes_wasted, 4096u);
  EXPECT_EQ(drives[2].bytes_wasted, 4096u);
  const std::vector<LayerReads> layers = summary.layers();
  EXPECT_EQ(layers[0].bytes_hinted, 4096u);
  EXPECT_EQ(layers[0].bytes_wasted, 0u);
  EXPECT_EQ(layers[1].bytes_hinted, 3 * 4096u);
  EXPECT_EQ(layers[1].bytes_wasted, 2 * 4096u);
}

TEST(ReadSummary, BusyTimeCountsOverlappingReadsOnce) {
  const format::ReadTraceHeader header = three_drives();
  ReadSummary summary(header);
  summary.add(block_of({{1, 0, 0, 10}, {1, 0, 5, 20}, {2, 0, 30, 40}, {2, 1, 0, 40}}));
  const std::vector<DriveReads> drives = summary.drives();
  EXPECT_EQ(drives[0].busy, Nanos(30));
  EXPECT_DOUBLE_EQ(drives[0].rate(), 3 * 4096 / 30e-9);
  EXPECT_EQ(drives[1].busy, Nanos(40));
  EXPECT_EQ(drives[2].rate(), 0);
}

TEST(ReadSummary, ComparesItsSumsWithTheCounters) {
  const format::ReadTraceHeader header = two_layers();
  ReadSummary summary(header);
  format::TraceEvents events =
      block_of({{1, 0, 0, 5}, {1, 2, 0, 6, Priority::kHint, ReadOutcome::kShort}});
  events.requests.entries = {
      {.round = 1, .bytes_missed = 10, .first = {1}, .experts = 5, .missed = 2}};
  events.waits.entries = {{Nanos(1), Nanos(2), 1, {1}}, {Nanos(5), Nanos(3), 1, {0}}};
  events.wastes.entries = {{Nanos(9), 1, 11, {1}}};
  summary.add(events);
  format::ReadTraceEnd same{.counters = {{"device_bytes", 4096},
                                         {"waiting_ns", 5},
                                         {"hint_bytes_wasted", 11},
                                         {"expert_hits", 3},
                                         {"expert_misses", 2},
                                         {"expert_bytes_missed", 10}},
                            .drives = {}};
  for (const DriveReads& drive : summary.drives()) {
    same.drives.push_back({.bytes = drive.bytes, .reads = drive.reads});
  }
  EXPECT_EQ(summary.disagreement(same), "");
  format::ReadTraceEnd bytes = same, reads = same;
  bytes.drives[0].bytes[1] += 1;
  reads.drives[2].reads[2] += 1;
  EXPECT_THAT(summary.disagreement(bytes), HasSubstr("4096 bytes of expert on a, but 4097"));
  EXPECT_THAT(summary.disagreement(reads), HasSubstr("1 reads with outcome short on c, but 2"));
  for (size_t c = 0; c < same.counters.size(); ++c) {
    format::ReadTraceEnd other = same;
    ++other.counters[c].value;
    EXPECT_THAT(summary.disagreement(other), HasSubstr(same.counters[c].name + " comes to "));
  }
}

}  // namespace
}  // namespace sluice::stream
