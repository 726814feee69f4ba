// Without this test a drive could be given too little to be busy, or so much that demand waits,
// and a broken one could be asked again and again.
#include "stream/drive_model.h"

#include <deque>
#include <utility>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kPiece = 1u << 20;

/// A drive with a latency and a rate, that is always given as much as its model wants.
class Busy {
 public:
  Busy(double rate, Nanos latency) : rate_(rate), latency_(latency) {}

  void run(Nanos time) {
    for (const Nanos end = now + time; now < end;) {
      while (model.bytes_in_flight() + kPiece <= model.window_bytes(now)) start();
      now = std::max(now, flights_.front().second);
      model.succeed(flights_.front().first, kPiece, now);
      flights_.pop_front();
    }
  }
  void change_rate(double rate) { rate_ = rate; }

  DriveModel model{DriveModelOptions{.piece_bytes = kPiece}};
  Nanos now{};

 private:
  void start() {
    const Nanos transfer{static_cast<int64_t>(kPiece / rate_ * 1e9)};
    free_at_ = std::max(free_at_, now + latency_) + transfer;
    flights_.emplace_back(model.start(kPiece, now), free_at_);
  }

  double rate_;
  Nanos latency_, free_at_{};
  std::deque<std::pair<DriveModel::Started, Nanos>> flights_;
};

TEST(DriveModel, LearnsTheRateAndKeepsTheQueueShort) {
  for (const double rate : {50e6, 500e6, 7e9, 14e9}) {
    for (const Nanos latency :
         {Nanos(microseconds(20)), Nanos(microseconds(100)), Nanos(milliseconds(2))}) {
      Busy drive(rate, latency);
      drive.run(seconds(1));
      EXPECT_NEAR(drive.model.rate() / rate, 1, 0.05) << rate << " B/s, " << latency.count();
      // At least what is under way by itself, and not many times that.
      const double under_way = rate * to_seconds(latency) + static_cast<double>(kPiece);
      const auto window = static_cast<double>(drive.model.window_bytes(drive.now));
      EXPECT_GE(window, std::min(under_way, 60e6)) << rate << " B/s, " << latency.count();
      EXPECT_LE(window, 2.4 * under_way) << rate << " B/s, " << latency.count();
    }
  }
}

TEST(DriveModel, ForgetsARateThatIsNotSeenAgain) {
  Busy drive(1e9, microseconds(100));
  drive.run(seconds(1));
  drive.change_rate(0.3e9);
  drive.run(seconds(2));
  EXPECT_NEAR(drive.model.rate() / 0.3e9, 1, 0.1);
}

TEST(DriveModel, LeavesADriveAloneForLongerAndLonger) {
  DriveModel model({.piece_bytes = kPiece});
  Nanos now = seconds(1);
  const auto fail = [&](bool gone) {
    (void)model.start(kPiece, now);
    model.fail(kPiece, gone, now);
  };
  fail(false);
  fail(false);
  EXPECT_FALSE(model.shunned(now));
  fail(false);
  Nanos last{};
  for (int i = 0; i < 12; ++i) {
    ASSERT_TRUE(model.shunned(now));
    const Nanos pause = model.quarantined_until() - now;
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, seconds(30));
    last = pause;
    now = model.quarantined_until();
    ASSERT_FALSE(model.shunned(now));
    EXPECT_EQ(model.window_bytes(now), kPiece) << "one read at a time, to try it";
    fail(false);
  }
  EXPECT_EQ(last, seconds(30));
  now = model.quarantined_until();
  const DriveModel::Started started = model.start(kPiece, now);
  model.succeed(started, kPiece, now + milliseconds(1));
  EXPECT_FALSE(model.shunned(now));
  EXPECT_GT(model.window_bytes(now + milliseconds(1)), kPiece);
  fail(false);
  EXPECT_FALSE(model.shunned(now)) << "a success ends the row of failures";
  fail(true);
  EXPECT_TRUE(model.shunned(now)) << "a device that is gone";
  EXPECT_EQ(model.quarantines(), 14u);
}

TEST(DriveModel, IsShunnedWhileAReadHangs) {
  DriveModel model({.piece_bytes = kPiece});
  const DriveModel::Started started = model.start(kPiece, seconds(1));
  EXPECT_GE(model.stall_limit(started), milliseconds(20));
  model.stall();
  EXPECT_TRUE(model.shunned(seconds(1)));
  model.stall_ended();
  model.succeed(started, kPiece, seconds(9));
  EXPECT_FALSE(model.shunned(seconds(9)));
  EXPECT_EQ(model.busy(seconds(20)), seconds(8));
}

}  // namespace
}  // namespace sluice::stream
