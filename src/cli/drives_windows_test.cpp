// Without these tests a live view could show a run's reads twice, in the wrong second, or not at
// all.
#include "cli/drives_windows.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Two drives; file 0 lies on the first, file 1 on the second.
format::ReadTraceHeader two_drives() {
  return {.priorities = {"spine"},
          .outcomes = {"good", "failed"},
          .drives = {"a", "b"},
          .files = {{{0}, "x"}, {{1}, "y"}}};
}

format::TracedRead read(uint16_t file, int start_ms, int end_ms, uint32_t bytes,
                        uint8_t outcome = 0) {
  return {.started = seconds(1000) + milliseconds(start_ms),
          .duration = milliseconds(end_ms - start_ms),
          .bytes = bytes,
          .file = {file},
          .outcome = outcome};
}

TEST(TraceWindows, CutByTheTimeOfTheRun) {
  const format::ReadTraceHeader header = two_drives();
  TraceWindows windows(header, seconds(1));
  windows.add(read(0, 0, 500, 3000));
  windows.add(read(1, 100, 900, 1000));
  windows.add(read(0, 500, 999, 500, 1));  // Failed: it took its time and brought nothing.
  EXPECT_FALSE(windows.take());
  windows.add(read(1, 900, 3500, 600));  // Nothing ended in two seconds before.
  const auto first = windows.take();
  ASSERT_TRUE(first);
  EXPECT_DOUBLE_EQ(first->begin_seconds, 0);
  EXPECT_DOUBLE_EQ(first->seconds, 1);
  EXPECT_DOUBLE_EQ(first->drives[0].read_bytes_per_second, 3000);
  EXPECT_DOUBLE_EQ(first->drives[0].reads_per_second, 2);
  EXPECT_NEAR(first->drives[0].queue, 0.999, 1e-9);
  EXPECT_NEAR(first->drives[0].latency_ms, 499.5, 1e-9);
  EXPECT_DOUBLE_EQ(first->drives[0].share, 0.75);
  EXPECT_DOUBLE_EQ(first->drives[1].read_bytes_per_second, 1000);
  EXPECT_DOUBLE_EQ(first->drives[1].share, 0.25);
  for (const double begin : {1.0, 2.0}) {
    const auto idle = windows.take();
    ASSERT_TRUE(idle);
    EXPECT_DOUBLE_EQ(idle->begin_seconds, begin);
    EXPECT_EQ(idle->drives[1].reads_per_second, 0);
    EXPECT_EQ(idle->drives[1].latency_ms, 0);
  }
  EXPECT_FALSE(windows.take());
  const auto rest = windows.rest();
  ASSERT_TRUE(rest);
  EXPECT_DOUBLE_EQ(rest->begin_seconds, 3);
  EXPECT_DOUBLE_EQ(rest->seconds, 0.5);
  EXPECT_DOUBLE_EQ(rest->drives[1].read_bytes_per_second, 1200);
  EXPECT_FALSE(windows.rest());
}

TEST(TraceWindows, AnEmptyTraceHasNone) {
  const format::ReadTraceHeader header = two_drives();
  TraceWindows windows(header, seconds(1));
  EXPECT_FALSE(windows.take());
  EXPECT_FALSE(windows.rest());
}

}  // namespace
}  // namespace sluice::cli
