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

format::ReadBlock block_of(const std::vector<Spec>& specs) {
  format::ReadBlock block;
  for (const Spec& s : specs) {
    block.reads.push_back({.started = Nanos(s.start),
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
  format::ReadBlock block = block_of(reads);
  block.lost = 3;
  summary.add(block);
  EXPECT_EQ(summary.reads(), 202u);
  EXPECT_EQ(summary.lost(), 3u);
  EXPECT_EQ(summary.retries(), 1u);
  EXPECT_EQ(summary.span(), Nanos(9000 - 900));
  const std::vector<DriveReads> drives = summary.drives();
  EXPECT_THAT(drives[0].bytes, ElementsAre(4096, 0, 0, 0));
  EXPECT_THAT(drives[1].bytes, ElementsAre(0, 200 * 4096, 0, 0));
  EXPECT_THAT(drives[1].reads, ElementsAre(200, 1, 0, 0, 0, 0));
  EXPECT_EQ(drives[1].p50, Nanos(100));
  EXPECT_EQ(drives[1].p99, Nanos(198));
  EXPECT_EQ(drives[2].p99, Nanos(0));
}

TEST(ReadSummary, ComparesItsSumsWithTheCounters) {
  const format::ReadTraceHeader header = three_drives();
  ReadSummary summary(header);
  summary.add(block_of({{1, 0, 0, 5}, {1, 2, 0, 6, Priority::kHint, ReadOutcome::kShort}}));
  format::ReadTraceEnd same{.counters = {{"device_bytes", 4096}}, .drives = {}};
  for (const DriveReads& drive : summary.drives()) {
    same.drives.push_back({.bytes = drive.bytes, .reads = drive.reads});
  }
  EXPECT_EQ(summary.disagreement(same), "");
  format::ReadTraceEnd bytes = same, reads = same, total = same;
  bytes.drives[0].bytes[1] += 1;
  reads.drives[2].reads[2] += 1;
  total.counters[0].value += 1;
  EXPECT_THAT(summary.disagreement(bytes), HasSubstr("4096 bytes of expert on a, but 4097"));
  EXPECT_THAT(summary.disagreement(reads), HasSubstr("1 reads with outcome short on c, but 2"));
  EXPECT_THAT(summary.disagreement(total), HasSubstr("from all drives, but 4097"));
}

}  // namespace
}  // namespace sluice::stream
