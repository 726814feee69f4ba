// Without these tests the live view could blame the wrong drive or layer, show percentiles that are
// none, or go on showing what was long ago.
#include "server/read_watch.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using stream::Priority;
using stream::ReadOutcome;

constexpr ReadWatch::Layout kLayout{.drives = 3, .layers = 2, .first_expert = {10}, .experts = 4};

/// A read of 1 ms, unless told otherwise.
struct Read {
  uint16_t drive = 0;
  Nanos ended{};
  uint64_t round = 1;
  uint32_t segment = 10;
  Priority priority = Priority::kExpert;
  ReadOutcome outcome = ReadOutcome::kGood;
  Nanos duration = milliseconds(1);
  uint64_t queued_bytes = 4096;
};

stream::StreamerEvent event(const Read& read) {
  stream::ReadRecord record;
  record.ended.read.drive = {read.drive};
  record.ended.read.priority = read.priority;
  record.ended.read.queued_bytes = read.queued_bytes;
  record.ended.outcome = read.outcome;
  record.ended.started = read.ended - read.duration;
  record.ended.ended = read.ended;
  record.segment = {read.segment};
  record.round = read.round;
  return record;
}

/// Who was last how often.
std::vector<uint64_t> last_of(const ReadWatch& watch) {
  std::vector<uint64_t> last;
  for (const WatchedDrive& drive : watch.watched({}).drives) last.push_back(drive.last);
  return last;
}

TEST(ReadWatch, TheReadThatEndsLastMakesItsDriveTheLastOne) {
  ReadWatch watch;
  watch.begin(kLayout);
  EXPECT_THAT(last_of(watch), testing::ElementsAre(0, 0, 0));
  EXPECT_FALSE(watch.watched({}).layers[0].last_drive);
  // They are told in the order in which they were looked at.
  watch.take(event({.drive = 0, .ended = milliseconds(5)}));
  watch.take(event({.drive = 1, .ended = milliseconds(9)}));
  watch.take(event({.drive = 2, .ended = milliseconds(8)}));
  EXPECT_THAT(last_of(watch), testing::ElementsAre(0, 1, 0));
  EXPECT_EQ(watch.watched({}).layers[0].last_drive, DriveId{1});
  // The next barrier is of the other layer.
  watch.take(event({.drive = 2, .ended = milliseconds(12), .round = 2, .segment = 14}));
  EXPECT_THAT(last_of(watch), testing::ElementsAre(0, 1, 1));
  EXPECT_EQ(watch.watched({}).layers[0].last_drive, DriveId{1});
  EXPECT_EQ(watch.watched({}).layers[1].last_drive, DriveId{2});
}

TEST(ReadWatch, WhatNoRequestForExpertsWaitsForEndsNoBarrier) {
  ReadWatch watch;
  watch.begin(kLayout);
  const Read others[] = {
      {.segment = 3, .priority = Priority::kSpine},
      {.priority = Priority::kHint},
      {.outcome = ReadOutcome::kWrongChecksum},
  };
  for (const Read& read : others) watch.take(event(read));
  EXPECT_THAT(last_of(watch), testing::ElementsAre(0, 0, 0));
}

TEST(ReadWatch, RequestsAndWaitsAreOfTheLayerOfTheirExperts) {
  ReadWatch watch;
  watch.begin(kLayout);
  watch.take(stream::RequestRecord{.first = {13}, .experts = 5, .missed = 2});
  watch.take(stream::RequestRecord{.first = {14}, .experts = 4, .missed = 4});
  watch.take(stream::WaitRecord{.duration = milliseconds(3), .segment = {17}});
  watch.take(stream::WaitRecord{.duration = milliseconds(4), .segment = {14}});
  watch.take(stream::WaitRecord{.duration = milliseconds(5), .segment = {9}});
  const WatchedReads reads = watch.watched({});
  ASSERT_EQ(reads.layers.size(), 2u);
  EXPECT_EQ(std::pair(reads.layers[0].hits, reads.layers[0].misses), std::pair(3ul, 2ul));
  EXPECT_EQ(std::pair(reads.layers[1].hits, reads.layers[1].misses), std::pair(0ul, 4ul));
  EXPECT_EQ(reads.layers[0].waiting, Nanos{});
  EXPECT_EQ(reads.layers[1].waiting, milliseconds(7));
  EXPECT_EQ(reads.waiting_spine, milliseconds(5));
}

TEST(ReadWatch, WhatIsRecentPasses) {
  ReadWatch watch;
  watch.begin(kLayout);
  const auto slow = milliseconds(100);
  watch.take(event({.ended = seconds(1), .duration = slow, .queued_bytes = 1000}));
  watch.take(event({.ended = seconds(9), .queued_bytes = 3000}));
  const auto recent = [&](Nanos now) {
    const WatchedDrive drive = watch.watched(now).drives[0];
    EXPECT_EQ(drive.latency.count(), 2u);
    return std::pair(drive.recent.count(), drive.queued_bytes);
  };
  EXPECT_EQ(recent(seconds(9)), std::pair(2ul, 2000ul));
  EXPECT_EQ(recent(seconds(13)), std::pair(1ul, 3000ul));
  EXPECT_EQ(recent(seconds(60)), std::pair(0ul, 0ul));
  // The memory of an old window is used again.
  watch.take(event({.ended = seconds(25), .queued_bytes = 7000}));
  EXPECT_EQ(watch.watched(seconds(25)).drives[0].recent.count(), 1u);
}

TEST(ReadWatch, BeforeItBeginsNothingCounts) {
  ReadWatch watch;
  watch.take(event({}));
  EXPECT_TRUE(watch.watched({}).drives.empty());
}

TEST(LatencyBuckets, PercentilesAreCloseToTheValues) {
  for (const int64_t us : {20, 33, 100, 1234, 65536, 5'000'000}) {
    LatencyBuckets buckets;
    buckets.add(microseconds(us));
    for (const double share : {0.0, 0.5, 1.0}) {
      const auto found = static_cast<double>(buckets.percentile(share).count());
      EXPECT_NEAR(found, 1e3 * static_cast<double>(us), 1e3 * static_cast<double>(us) / 16) << us;
    }
  }
  LatencyBuckets mixed;
  EXPECT_EQ(mixed.percentile(0.5), Nanos{});
  for (int i = 0; i < 98; ++i) mixed.add(milliseconds(1));
  for (int i = 0; i < 2; ++i) mixed.add(seconds(1));
  EXPECT_LT(mixed.percentile(0.5), milliseconds(2));
  EXPECT_GT(mixed.percentile(0.99), milliseconds(900));
}

TEST(LatencyBuckets, OctavesCountWhatIsNotLonger) {
  LatencyBuckets buckets;
  const Nanos second_octave(1 << 15);
  for (const Nanos time :
       {Nanos(0), second_octave, second_octave + Nanos(1), Nanos(std::chrono::hours(24))}) {
    buckets.add(time);
  }
  std::vector<std::pair<Nanos, uint64_t>> octaves;
  buckets.each_octave([&](Nanos end, uint64_t count) { octaves.emplace_back(end, count); });
  ASSERT_EQ(octaves.size(), LatencyBuckets::kOctaves - 1);
  EXPECT_EQ(octaves[0], std::pair(second_octave, uint64_t{2}));
  EXPECT_EQ(octaves[1], std::pair(2 * second_octave, uint64_t{3}));
  EXPECT_EQ(octaves.back().second, 3u);
  EXPECT_EQ(buckets.count(), 4u);
}

}  // namespace
}  // namespace sluice::server
