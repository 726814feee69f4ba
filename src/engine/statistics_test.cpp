// Without these tests the figures that users compare could be off by a factor or divide by zero.
#include "engine/statistics.h"

#include <cstring>
#include <sys/mman.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

PhaseStats decode_phase() {
  PhaseStats phase{.tokens = 4, .passes = 4, .elapsed = 2s};
  phase.reading.streamer = {.expert_hits = 30,
                            .expert_misses = 10,
                            .hints_started = 8,
                            .hint_hits = 6,
                            .hint_bytes_read = 500'000'000,
                            .hint_bytes_wasted = 100'000'000,
                            .expert_bytes_missed = 2'000'000'000,
                            .retries = 3,
                            .rescues = 1,
                            .expert_bytes_read = 3'000'000'000,
                            .spine_bytes_read = 900'000'000,
                            .device_bytes_read = 4'000'000'000,
                            .waiting_ns = 500'000'000};
  phase.reading.drives = {
      {.bytes = {900'000'000, 1'600'000'000, 500'000'000, 0},
       .outcomes = {3000, 2, 0, 1, 0, 0},
       .quarantines = 1,
       .busy = 1500ms,
       .rate = 2e9},
      {.bytes = {0, 1'000'000'000, 0, 0}, .outcomes = {1000}, .busy = 500ms, .rate = 1e9}};
  return phase;
}

GenerationStats decode_only() {
  return {.prefill = {},
          .decode = decode_phase(),
          .peak_rss_bytes = 123,
          .drive_names = {"/mnt/a", "/mnt/b \"2\""}};
}

TEST(Statistics, FiguresOfAPhase) {
  struct Case {
    const char* name;
    double (*figure)(const PhaseStats&);
    double expected;
  };
  const PhaseStats phase = decode_phase(), none;
  for (const Case& c : {
           Case{"tokens/s", [](const PhaseStats& p) { return p.tokens_per_second(); }, 2.0},
           Case{"bytes", [](const PhaseStats& p) { return p.bytes_per_token(); }, 1e9},
           Case{"hits", [](const PhaseStats& p) { return p.hit_share(); }, 0.75},
           Case{"recall", [](const PhaseStats& p) { return p.hint_recall(); }, 0.75},
           Case{"waste", [](const PhaseStats& p) { return p.hint_waste(); }, 0.2},
           Case{"of missed", [](const PhaseStats& p) { return p.hint_waste_of_missed(); }, 0.05},
           Case{"busy", [](const PhaseStats& p) { return p.busy_share(); }, 0.5},
           Case{"waiting", [](const PhaseStats& p) { return 1e-9 * double(p.waiting().count()); },
                0.5},
           Case{"computing",
                [](const PhaseStats& p) { return 1e-9 * double(p.computing().count()); }, 1.5},
       }) {
    EXPECT_DOUBLE_EQ(c.figure(phase), c.expected) << c.name;
    EXPECT_EQ(c.figure(none), 0.0) << c.name;
  }
  EXPECT_DOUBLE_EQ(phase.busy_share(phase.reading.drives[0]), 0.75);
}

TEST(Statistics, AddSumsEveryField) {
  PhaseStats sum;
  for (uint64_t step = 1; step <= 2; ++step) {
    PhaseStats part = {.tokens = step, .passes = 2 * step, .elapsed = step * 1s};
    uint64_t value = 3;
    for (const auto& [name, field] : stream::streamer_counters()) {
      part.reading.streamer.*field = step * value++;
    }
    stream::DriveCounters drive;
    for (uint64_t& bytes : drive.bytes) bytes = step * value++;
    for (uint64_t& outcomes : drive.outcomes) outcomes = step * value++;
    drive.quarantines = step * value++;
    drive.busy = Nanos(step * value);
    drive.rate = static_cast<double>(step);
    part.reading.drives = {{}, drive};
    sum.add(part);
  }
  EXPECT_EQ(sum.tokens, 3u);
  EXPECT_EQ(sum.passes, 6u);
  EXPECT_EQ(sum.elapsed, Nanos(3s));
  uint64_t value = 3;
  for (const auto& [name, field] : stream::streamer_counters()) {
    EXPECT_EQ(sum.reading.streamer.*field, 3 * value++) << name;
  }
  ASSERT_EQ(sum.reading.drives.size(), 2u);
  const stream::DriveCounters& drive = sum.reading.drives[1];
  for (const uint64_t bytes : drive.bytes) EXPECT_EQ(bytes, 3 * value++);
  for (const uint64_t outcomes : drive.outcomes) EXPECT_EQ(outcomes, 3 * value++);
  EXPECT_EQ(drive.quarantines, 3 * value++);
  EXPECT_EQ(drive.busy, Nanos(3 * value));
  EXPECT_EQ(drive.rate, 2.0) << "a rate is not summed";
}

TEST(Statistics, ADifferenceIsWhatASumAdded) {
  const PhaseStats part = decode_phase();
  stream::ReadingCounters now = part.reading;
  now.add(part.reading);
  const stream::ReadingCounters difference = now.since(part.reading);
  for (const auto& [name, field] : stream::streamer_counters()) {
    EXPECT_EQ(difference.streamer.*field, part.reading.streamer.*field) << name;
  }
  for (size_t d = 0; d < 2; ++d) {
    const stream::DriveCounters &drive = difference.drives[d], &expected = part.reading.drives[d];
    EXPECT_EQ(drive.bytes, expected.bytes);
    EXPECT_EQ(drive.outcomes, expected.outcomes);
    EXPECT_EQ(drive.quarantines, expected.quarantines);
    EXPECT_EQ(drive.busy, expected.busy);
  }
}

TEST(Statistics, TheFirstLineSpeaksOfDecodeAndElseOfPrefill) {
  EXPECT_THAT(stats_text(decode_only()),
              StartsWith("2.00 tokens/s, 1.000 GB read per token, 75.0 % hits, waiting 125.0 ms, "
                         "computing 375.0 ms a token, drives busy 50.0 %\n"));
  GenerationStats prefill_only = decode_only();
  std::swap(prefill_only.prefill, prefill_only.decode);
  EXPECT_THAT(stats_text(prefill_only), StartsWith("2.00 tokens/s"));
}

TEST(Statistics, TheTextHasHintsAndATableOfDrives) {
  const std::string text = stats_text(decode_only());
  EXPECT_THAT(text, HasSubstr("hints: 6 of 8 used (75.0 %), 0.100 of 0.500 GB wasted (20.0 %; 5.0 "
                              "% of the 2.000 GB that experts missed); 3 retries, 1 rescues\n"));
  EXPECT_THAT(text,
              HasSubstr("drive          spine    expert      hint      fill        GB   share "
                        "   busy        GB/s quarantines  failed reads\n"));
  EXPECT_THAT(text, HasSubstr("/mnt/a         0.900     1.600     0.500     0.000     3.000  75.0 "
                              "%  75.0 %       2.000           1  2 io_error, 1 wrong_checksum\n"));
  EXPECT_THAT(text, HasSubstr("/mnt/b \"2\"     0.000     1.000     0.000     0.000     1.000  "
                              "25.0 %  25.0 %       1.000           0  -\n"));
}

TEST(Statistics, JsonHasBothPhases) {
  const auto json = nlohmann::json::parse(stats_json(decode_only()));
  EXPECT_EQ(json["prefill"]["tokens"], 0);
  EXPECT_EQ(json["peak_rss_bytes"], 123);
  const auto& decode = json["decode"];
  EXPECT_EQ(decode["seconds"], 2.0);
  EXPECT_EQ(decode["waiting_seconds"], 0.5);
  EXPECT_EQ(decode["expert_misses"], 10);
  EXPECT_EQ(decode["device_bytes"], 4'000'000'000);
  EXPECT_EQ(decode["drives"][1]["name"], "/mnt/b \"2\"");
  EXPECT_EQ(decode["drives"][0]["bytes"]["hint"], 500'000'000);
  EXPECT_EQ(decode["drives"][0]["reads"]["wrong_checksum"], 1);
  EXPECT_EQ(decode["drives"][0]["busy_seconds"], 1.5);
}

TEST(Statistics, PeakMemoryGrowsWithWhatIsTouchedAndCanBeginAnew) {
  const uint64_t before = peak_rss_bytes();
  EXPECT_GT(before, 0u);
  // Twice the peak so far cannot have been resident before. Straight from the system, to which it
  // goes back at once.
  const size_t bytes = 2 * before;
  void* const touched =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(touched, MAP_FAILED);
  std::memset(touched, 1, bytes);
  const uint64_t peak = peak_rss_bytes();
  EXPECT_GE(peak, before + before);
  EXPECT_GE(rss_bytes(), bytes);
  ASSERT_EQ(::munmap(touched, bytes), 0);
  EXPECT_LT(rss_bytes(), peak);
  if (restart_peak_rss()) {
    EXPECT_LT(peak_rss_bytes(), peak);
  }
}

}  // namespace
}  // namespace sluice::engine
