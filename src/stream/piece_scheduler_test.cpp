// Without this test a drive could read what is not urgent, a piece could be asked of the wrong
// drive or lost although somebody has it, unseen.
#include "stream/piece_scheduler.h"

#include "io/drive_array.h"

#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kBlock = io::kBlockBytes;

/// Drives with one file each, and jobs of pieces of one block.
class Table {
 public:
  explicit Table(uint16_t drives, uint64_t window = 64 * kBlock)
      : scheduler_(options(drives, window), 16) {}

  /// Queues a job; each piece has the drives that hold it.
  JobId add(Priority priority, std::initializer_list<std::initializer_list<uint16_t>> pieces) {
    const JobId job{next_job_++};
    std::vector<format::Piece>& list = scheduler_.pieces_of(job);
    list.clear();
    for (const std::initializer_list<uint16_t> holders : pieces) {
      format::Piece piece{.memory_offset = list.size() * kBlock, .bytes = kBlock};
      for (const uint16_t drive : holders) piece.add({.file = {drive}, .stored_bytes = kBlock});
      list.push_back(piece);
    }
    scheduler_.add(job, priority);
    return job;
  }

  /// What starts now, in words: "job.piece@drive", in order.
  std::string start() {
    std::string text;
    while (const std::optional<PieceRead> read = scheduler_.next(now)) {
      text += text.empty() ? "" : " ";
      text += std::to_string(read->job.value) + "." + std::to_string(read->piece) + "@" +
              std::to_string(read->drive.value);
      under_way.push_back(*read);
    }
    return text;
  }
  JobEvent end(size_t which, PieceOutcome outcome) {
    const PieceRead read = under_way.at(which);
    under_way.erase(under_way.begin() + static_cast<ptrdiff_t>(which));
    return scheduler_.end(read, outcome, now);
  }
  void end_all() {
    while (!under_way.empty()) (void)end(0, PieceOutcome::kGood);
  }
  /// Lets a drive be known for needing that long for a piece.
  void teach(uint16_t drive, Nanos time) {
    add(Priority::kExpert, {{drive}, {drive}});
    (void)start();
    now += time;
    end_all();
  }

  PieceScheduler& operator*() { return scheduler_; }
  PieceScheduler* operator->() { return &scheduler_; }

  Nanos now = seconds(1);
  std::vector<PieceRead> under_way;

 private:
  static SchedulerOptions options(uint16_t drives, uint64_t window) {
    SchedulerOptions result{.drive_of_file = {},
                            .drive = {.piece_bytes = kBlock, .window_bytes_max = window}};
    for (uint16_t d = 0; d < drives; ++d) result.drive_of_file.push_back({d});
    return result;
  }

  PieceScheduler scheduler_;
  uint32_t next_job_ = 0;
};

TEST(PieceScheduler, TakesTheMostUrgentFirst) {
  Table table(1, kBlock);
  table.add(Priority::kFill, {{0}});
  table.add(Priority::kHint, {{0}});
  table.add(Priority::kExpert, {{0}, {0}});
  table.add(Priority::kExpert, {{0}});
  table.add(Priority::kSpine, {{0}});
  for (const char* const wanted : {"4.0@0", "2.0@0", "2.1@0", "3.0@0", "1.0@0", "0.0@0", ""}) {
    EXPECT_EQ(table.start(), wanted);
    table.end_all();
  }
}

TEST(PieceScheduler, DrivesPullWhatTheyHold) {
  Table table(3);
  table.add(Priority::kExpert, {{0}, {1}, {0}, {1, 2}, {0}});
  EXPECT_EQ(table.start(), "0.0@0 0.1@1 0.3@2 0.2@0") << "two each while nothing is known";
  EXPECT_EQ(table.end(0, PieceOutcome::kGood), JobEvent::kNone);
  table.now += milliseconds(1);
  EXPECT_EQ(table.start(), "0.4@0");
  for (size_t left = table.under_way.size(); left > 1; --left) {
    EXPECT_EQ(table.end(0, PieceOutcome::kGood), JobEvent::kNone);
  }
  EXPECT_EQ(table.end(0, PieceOutcome::kGood), JobEvent::kComplete);
}

TEST(PieceScheduler, AHintTakesIdleDrivesOnlyAndHalfOfOne) {
  Table table(2);
  table.add(Priority::kHint, {{0}, {0}, {0}, {1}, {1}});
  table.add(Priority::kExpert, {{0}, {0}, {0}});
  EXPECT_EQ(table.start(), "1.0@0 0.3@1 1.1@0");
  table.end_all();
  table.now += milliseconds(1);
  (*table).set_priority({0}, Priority::kExpert);
  EXPECT_EQ(table.start(), "0.4@1 1.2@0 0.0@0 0.1@0") << "now that it is asked for";
}

TEST(PieceScheduler, ASlowDriveLeavesTheLastPiecesToAFastOne) {
  Table table(2);
  table.teach(0, milliseconds(1));
  table.teach(1, milliseconds(20));
  // 0 needs half a millisecond for a piece, 1 needs ten.
  table.add(Priority::kExpert, {{0, 1}, {0, 1}, {0, 1}});
  EXPECT_EQ(table.start(), "2.0@0 2.1@0 2.2@0");
  table.end_all();
  // What it holds alone it reads, and of much work it takes its share.
  table.add(Priority::kExpert, {{1}});
  EXPECT_EQ(table.start(), "3.0@1");
  table.end_all();
  Table many(2);
  many.teach(0, milliseconds(1));
  many.teach(1, milliseconds(4));
  many.add(Priority::kExpert, {{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}});
  EXPECT_NE(many.start().find("@1"), std::string::npos);
}

TEST(PieceScheduler, OneBadReadDoesNotShutADriveOut) {
  Table table(2);
  table.teach(0, milliseconds(1));
  table.teach(1, milliseconds(100));
  const auto used = [&] {
    table.add(Priority::kExpert, {{0, 1}, {0, 1}});
    const bool both = table.start().find("@1") != std::string::npos;
    table.now += milliseconds(1);
    table.end_all();
    return both;
  };
  EXPECT_FALSE(used());
  table.now += seconds(5);
  EXPECT_TRUE(used()) << "it is tried after a while";
  EXPECT_TRUE(used()) << "and it has shown that it is fast";
}

TEST(PieceScheduler, EqualDrivesNeverLeaveItToEachOther) {
  for (uint16_t drives = 2; drives <= 5; ++drives) {
    Table table(drives);
    for (uint16_t d = 0; d < drives; ++d) table.teach(d, milliseconds(3 + d));
    const JobId job = drives == 2   ? table.add(Priority::kExpert, {{0, 1}})
                      : drives == 3 ? table.add(Priority::kExpert, {{0, 1, 2}})
                      : drives == 4 ? table.add(Priority::kExpert, {{0, 1, 2, 3}})
                                    : table.add(Priority::kExpert, {{0, 1, 2, 3, 4}});
    EXPECT_FALSE(table.start().empty()) << drives;
    EXPECT_FALSE(table->waits(job)) << drives;
  }
}

TEST(PieceScheduler, AFailedPieceGoesToEveryHolderTwice) {
  Table table(2);
  table.add(Priority::kExpert, {{0, 1}});
  std::string order;
  for (int attempt = 1; attempt <= 4; ++attempt) {
    order += table.start() + " ";
    EXPECT_EQ(table.end(0, PieceOutcome::kBad), attempt == 4 ? JobEvent::kLost : JobEvent::kRetry);
    EXPECT_EQ(table->waits({0}), attempt < 4);
  }
  EXPECT_EQ(order, "0.0@0 0.0@1 0.0@0 0.0@1 ");
  (*table).drop({0});
  EXPECT_EQ(table.start(), "");
}

TEST(PieceScheduler, ADriveThatIsGoneIsAskedOnlyForWhatNobodyElseHas) {
  Table table(2);
  table.add(Priority::kExpert, {{0, 1}});
  EXPECT_EQ(table.start(), "0.0@0");
  EXPECT_EQ(table.end(0, PieceOutcome::kDriveGone), JobEvent::kRetry);
  table.add(Priority::kExpert, {{0, 1}, {0, 1}});
  table.add(Priority::kExpert, {{0}});
  EXPECT_EQ(table.start(), "0.0@1 2.0@0 1.0@1");
  EXPECT_LE((*table).look_again(table.now), (*table).drive({0}).quarantined_until());
  table.end_all();
  EXPECT_EQ(table.start(), "1.1@0") << "what it gave shows that it is back";
}

TEST(PieceScheduler, AJobThatHangsGoesOnElsewhere) {
  Table table(2);
  table.teach(0, milliseconds(1));
  table.teach(1, milliseconds(1));
  const JobId job = table.add(Priority::kExpert, {{0}, {0, 1}, {0}});
  EXPECT_EQ(table.start(), "2.0@0 2.1@1 2.2@0");
  (void)table.end(0, PieceOutcome::kGood);
  (void)table.end(1, PieceOutcome::kGood);
  EXPECT_TRUE((*table).find_stalled(table.now).empty());
  table.now = (*table).look_again(table.now);
  ASSERT_LT(table.now, seconds(3));
  EXPECT_EQ((*table).find_stalled(table.now), std::vector<JobId>{job});
  const JobId fresh{9};
  (*table).continue_as(job, fresh);
  (*table).drop(job);
  EXPECT_TRUE((*table).find_stalled(table.now).empty());
  EXPECT_TRUE(table->arrived(fresh, 0) && !table->arrived(fresh, 1) && table->arrived(fresh, 2));
  EXPECT_EQ(table.start(), "9.1@0");
  EXPECT_EQ(table.end(1, PieceOutcome::kGood), JobEvent::kComplete);
  EXPECT_TRUE((*table).drive({1}).shunned(table.now)) << "the read still hangs in it";
  EXPECT_EQ(table.end(0, PieceOutcome::kGood), JobEvent::kNone) << "nobody waits for the loser";
  EXPECT_FALSE((*table).drive({1}).shunned(table.now));
  EXPECT_EQ((*table).bytes_in_flight(), 0u);
}

// Also of a job that was dropped: its drive still has not answered.
TEST(PieceScheduler, TheOldestReadIsTheOneThatStartedFirst) {
  Table table(2);
  EXPECT_EQ((*table).oldest({0}, table.now), Nanos(0));
  const JobId first = table.add(Priority::kExpert, {{0}});
  (void)table.start();
  table.now += seconds(1);
  table.add(Priority::kExpert, {{0}, {1}});
  (void)table.start();
  (*table).drop(first);
  table.now += seconds(2);
  EXPECT_EQ((*table).oldest({0}, table.now), seconds(3));
  EXPECT_EQ((*table).oldest({1}, table.now), seconds(2));
  (void)table.end(0, PieceOutcome::kGood);
  EXPECT_EQ((*table).oldest({0}, table.now), seconds(2));
  table.end_all();
  EXPECT_EQ((*table).oldest({0}, table.now), Nanos(0));
}

TEST(PieceScheduler, WhatNobodyElseHasIsWaitedForUntilItIsTooOld) {
  Table table(1);
  const JobId job = table.add(Priority::kExpert, {{0}});
  (void)table.start();
  table.now += seconds(5);
  EXPECT_TRUE((*table).find_stalled(table.now).empty());
  EXPECT_FALSE((*table).find_hopeless(seconds(10), table.now).has_value());
  EXPECT_EQ((*table).find_hopeless(seconds(2), table.now)->job, job);
  (*table).drop(job);
  EXPECT_FALSE((*table).find_hopeless(seconds(2), table.now).has_value());
}

TEST(PieceScheduler, DroppedJobsLeaveNothingBehind) {
  Table table(2);
  const JobId job = table.add(Priority::kExpert, {{0, 1}, {0}, {1}, {0}, {1}, {0}});
  (void)table.start();
  (*table).drop(job);
  EXPECT_FALSE((*table).anything_waits());
  EXPECT_EQ(table.end(0, PieceOutcome::kBad), JobEvent::kNone);
  table.end_all();
  EXPECT_EQ((*table).bytes_in_flight(), 0u);
  EXPECT_EQ(table.start(), "");
  EXPECT_EQ((*table).look_again(table.now), Nanos::max());
}

}  // namespace
}  // namespace sluice::stream
