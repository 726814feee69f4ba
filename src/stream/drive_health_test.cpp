// Without these tests a report could blame a healthy drive, or praise the one that made a run slow.
#include "stream/drive_health.h"

#include "stream/reading_counters.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double kPiece = 1 << 20;

struct Stall {
  double at = 0, seconds = 0;
};

/// A drive as a queue: a read ends when all before it have, and its own bytes have come.
struct Drive {
  double rate = 1e9;   ///< Bytes per second.
  double later = 1;    ///< Its rate changes by this factor
  double since = 1e9;  ///< at this time, in seconds.
  int pieces = 8;      ///< Of each layer.
  std::vector<Stall> stalls{};
};

/// The trace of a run: one layer after the other waits for the pieces of all drives.
struct History {
  std::vector<Drive> drives;
  int layers = 400;
  int fewer_after = 1 << 30;  ///< From this layer on each drive is asked for two pieces only.
  double compute = 0.002;     ///< Seconds for each layer.

  format::ReadTraceHeader header() const {
    format::ReadTraceHeader header{.experts = {{.layer = 1, .first = {0}, .count = 8}}};
    for (size_t d = 0; d < drives.size(); ++d) {
      header.drives.push_back("/d" + std::to_string(d));
      header.files.push_back({{static_cast<uint16_t>(d)}, header.drives.back() + "/file"});
    }
    for (size_t p = 0; p < kPriorities; ++p) {
      header.priorities.emplace_back(name(static_cast<Priority>(p)));
    }
    for (size_t o = 0; o < kReadOutcomes; ++o) {
      header.outcomes.emplace_back(name(static_cast<ReadOutcome>(o)));
    }
    return header;
  }

  format::TraceEvents events() const {
    format::TraceEvents events;
    double now = 1;
    for (int layer = 0; layer < layers; ++layer) {
      const auto round = static_cast<uint64_t>(layer + 1);
      events.requests.entries.push_back({.at = at(now), .round = round, .experts = 8, .missed = 8});
      double ended = now;
      for (size_t d = 0; d < drives.size(); ++d) {
        double free = now;
        const int pieces = layer < fewer_after ? drives[d].pieces : 2;
        for (int piece = 0; piece < pieces; ++piece) {
          free = end_of_read(drives[d], free);
          events.reads.entries.push_back(
              {.started = at(now),
               .duration = at(free) - at(now) + Nanos(80'000),
               .round = round,
               .queued_bytes = static_cast<uint64_t>(kPiece * (piece + 1)),
               .bytes = static_cast<uint32_t>(kPiece),
               .file = {static_cast<uint16_t>(d)},
               .priority = static_cast<uint8_t>(Priority::kExpert)});
        }
        ended = std::max(ended, free + 80e-6);
      }
      events.waits.entries.push_back({at(now), at(ended) - at(now), round, {0}});
      now = ended + compute;
    }
    return events;
  }

 private:
  static Nanos at(double seconds) { return Nanos(static_cast<int64_t>(seconds * 1e9)); }
  // Times of drives and stalls count from the first request, at one second.
  static double end_of_read(const Drive& drive, double begin) {
    const double rate = begin - 1 >= drive.since ? drive.rate * drive.later : drive.rate;
    double end = begin + kPiece / rate;
    for (const Stall& stall : drive.stalls) {
      const double over = 1 + stall.at + stall.seconds;
      if (begin < over && end > 1 + stall.at) end = std::max(end, over + kPiece / rate);
    }
    return end;
  }
};

RunHealth health_of(const History& run, const std::optional<format::ReadTraceEnd>& end = {}) {
  const format::ReadTraceHeader header = run.header();
  const format::TraceEvents events = run.events();
  ReadSummary summary(header);
  summary.add(events);
  HealthCheck check(header, summary, end);
  check.add(events);
  return check.result();
}

std::string verdict_of(const History& run) { return verdict(run.header(), health_of(run)); }

TEST(DriveHealth, NamesNobodyWhenNobodyIsToBlame) {
  const std::string fine = "No drive failed, stalled, throttled or held the others up.";
  const Drive fast{.rate = 7e9, .pieces = 28}, half{.rate = 3.5e9, .pieces = 14};
  const Drive slow{.rate = 1.4e9, .pieces = 6};
  EXPECT_EQ(verdict_of({.drives = {fast}}), fine);
  EXPECT_EQ(verdict_of({.drives = {fast, fast}}), fine);
  EXPECT_EQ(verdict_of({.drives = {fast, half, slow}}), fine);
  // From a long prompt to single tokens: drives are asked for less, and deliver less while busy.
  EXPECT_EQ(verdict_of({.drives = {fast}, .fewer_after = 100}), fine);
  EXPECT_EQ(verdict_of({.drives = {fast, half}, .fewer_after = 200}), fine);
  // A drive that waits for the disk to spin is slow but does not throttle.
  EXPECT_EQ(verdict_of({.drives = {{.rate = 0.15e9, .pieces = 4}}}), fine);
  // One pause of some milliseconds in a run of seconds.
  EXPECT_EQ(verdict_of({.drives = {fast, {.rate = 7e9, .pieces = 28, .stalls = {{1, 0.03}}}}}),
            fine);
}

TEST(DriveHealth, FindsTheDriveThatThrottles) {
  const Drive fine{.rate = 1e9}, falls{.rate = 1e9, .later = 0.3, .since = 1.5};
  const RunHealth health = health_of({.drives = {fine, falls, fine}});
  EXPECT_FALSE(health.drives[0].throttled);
  ASSERT_TRUE(health.drives[1].throttled);
  EXPECT_FALSE(health.drives[2].throttled);
  EXPECT_FALSE(health.drives[1].stalling);
  EXPECT_FALSE(health.drives[1].lagging);
  const Throttling& found = *health.drives[1].throttled;
  EXPECT_NEAR(found.rate_after / found.rate_before, 0.3, 0.06);
  EXPECT_NEAR(to_seconds(found.since), 1.5, 0.5);
  EXPECT_THAT(
      verdict_of({.drives = {fine, falls, fine}}),
      AllOf(HasSubstr("Look at /d1 (throttled: "), Not(HasSubstr("/d0")), Not(HasSubstr("/d2"))));
  // Alone there is nothing to compare it with but itself.
  EXPECT_THAT(verdict_of({.drives = {falls}}), HasSubstr("/d0 (throttled"));
  EXPECT_THAT(verdict_of({.drives = {fine, {.rate = 1e9, .later = 3, .since = 1.5}}}),
              Not(HasSubstr("throttled:")));
}

TEST(DriveHealth, FindsTheDriveThatStalls) {
  const Drive fine{.rate = 1e9}, stalls{.rate = 1e9, .stalls = {{1, 0.4}, {2, 2}}};
  const RunHealth health = health_of({.drives = {fine, stalls}});
  EXPECT_FALSE(health.drives[0].stalling);
  ASSERT_TRUE(health.drives[1].stalling);
  const Stalling& found = *health.drives[1].stalling;
  EXPECT_EQ(found.times, 2u);
  EXPECT_EQ(found.layers, 2u);
  EXPECT_NEAR(to_seconds(found.longest), 2.0, 0.02);
  EXPECT_NEAR(to_seconds(found.waited), 2.4, 0.04);
  EXPECT_TRUE(found.ended);
  EXPECT_FALSE(health.drives[1].throttled);
  EXPECT_THAT(verdict_of({.drives = {fine, stalls}}),
              HasSubstr("Look at /d1 (stalled: 2 times, for 2.0"));
}

TEST(DriveHealth, NamesBoth) {
  EXPECT_THAT(verdict_of({.drives = {{.rate = 1e9},
                                     {.rate = 1e9, .later = 0.3, .since = 1.5},
                                     {.rate = 1e9, .stalls = {{2, 2}}}}}),
              AllOf(HasSubstr("Look at /d1 (throttled: "), HasSubstr(", /d2 (stalled: 1 time, ")));
}

TEST(DriveHealth, AReadThatNeverEndedIsAStall) {
  const History run{.drives = {{.rate = 1e9}, {.rate = 1e9}}};
  format::ReadTraceEnd end{.drives = {{}, {.oldest = std::chrono::seconds(2)}}};
  const RunHealth health = health_of(run, end);
  EXPECT_FALSE(health.drives[0].stalling);
  ASSERT_TRUE(health.drives[1].stalling);
  EXPECT_FALSE(health.drives[1].stalling->ended);
  EXPECT_THAT(verdict(run.header(), health), HasSubstr("still when the run ended"));
  end.drives[1].oldest = std::chrono::milliseconds(1);
  EXPECT_FALSE(health_of(run, end).drives[1].stalling);
}

TEST(DriveHealth, FindsWhoHoldsTheOthersUp) {
  const RunHealth health = health_of({.drives = {{.rate = 1e9}, {.rate = 0.5e9}}});
  EXPECT_FALSE(health.drives[0].lagging);
  ASSERT_TRUE(health.drives[1].lagging);
  EXPECT_EQ(health.drives[1].lagging->share, 1.0);
  // It reads 8 MiB of each layer at half the rate, and 2 ms are computed.
  EXPECT_NEAR(health.drives[1].lagging->time, 8.4 / (16.8 + 2), 0.02);
  EXPECT_FALSE(health.drives[1].throttled);
}

// It does what the one that throttles does not.
TEST(DriveHealth, TheOneThatOthersLeaveTheWorkToIsNotToBlame) {
  const RunHealth health =
      health_of({.drives = {{.rate = 1e9, .pieces = 40}, {.rate = 1e9, .later = 0.3, .since = 1}}});
  EXPECT_FALSE(health.drives[0].lagging);
  EXPECT_TRUE(health.drives[1].throttled);
}

TEST(DriveHealth, CountsReadsThatFailed) {
  const History run{.drives = {{.rate = 1e9}, {.rate = 1e9}}};
  const format::ReadTraceHeader header = run.header();
  format::TraceEvents events = run.events();
  events.reads.entries[3].outcome = static_cast<uint8_t>(ReadOutcome::kWrongChecksum);
  ReadSummary summary(header);
  summary.add(events);
  const std::optional<format::ReadTraceEnd> died;
  HealthCheck check(header, summary, died);
  check.add(events);
  EXPECT_THAT(verdict(header, check.result()), HasSubstr("Look at /d0 (1 read failed)."));
}

TEST(DriveHealth, AShortRunSaysThatItIsTooShort) {
  for (const History& run :
       {History{.drives = {{.rate = 1e9}}, .layers = 10},
        History{.drives = {{.rate = 1e9, .pieces = 1}}, .layers = 40, .compute = 0.1},
        History{.drives = {{.rate = 1e9}}, .layers = 0}}) {
    EXPECT_THAT(verdict_of(run), HasSubstr("too short to tell"));
  }
}

}  // namespace
}  // namespace sluice::stream
