// Without these tests a client that has gone could keep the model busy, a silent stream could be
// taken for a dead one, or measurements could count what never happened.
#include "server/reply_writer.h"

#include "server/recorded_reply.h"
#include "server/reply_test_model.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Notes what it is told, and sends a byte for each.
class NotingWriter final : public ReplyWriter {
 public:
  explicit NotingWriter(HttpReply& reply) : reply_(reply) {}

  void begin() override { note('b'); }
  void take(const ReplyUpdate& update) override {
    tokens += std::holds_alternative<TokenSeen>(update.what) ? 1 : 0;
    note('t');
  }
  void keep_alive(const engine::RequestProgress&) override { note('k'); }
  void progress(const engine::RequestProgress& progress) override {
    last = progress;
    note('p');
  }
  void end() override { note('e'); }
  void fail(const Problem& problem) override {
    failure = problem;
    note('f');
  }

  std::string told{};
  uint32_t tokens = 0;
  engine::RequestProgress last{};
  std::optional<Problem> failure{};

 private:
  void note(char what) {
    told += what;
    reply_.write({&what, 1});
  }
  HttpReply& reply_;
};

class ReplyWriterTest : public ::testing::Test {
 protected:
  void write(ReplyOrder order, Nanos keep_alive = std::chrono::hours(1)) {
    Problem problem;
    std::optional<ReplyRun> run = ReplyRun::start(model_.served, std::move(order), problem);
    ASSERT_TRUE(run) << problem.message;
    write_reply(*run, writer_, reply_, {.keep_alive = keep_alive}, metrics_);
  }
  ReplyOrder long_order() {
    ReplyOrder order = model_.text_order("Once upon a time", 1000);
    order.ignore_eos = true;
    return order;
  }
  [[nodiscard]] std::string metrics() const { return metrics_.text(model_.served, {}); }

  TestModel model_;
  Metrics metrics_;
  RecordedReply reply_;
  NotingWriter writer_{reply_};
};

TEST_F(ReplyWriterTest, ABeginningTheUpdatesAndAnEnd) {
  write(model_.text_order("Once upon a time", 5));
  EXPECT_TRUE(writer_.told.starts_with("b"));
  EXPECT_TRUE(writer_.told.ends_with("te"));
  EXPECT_EQ(writer_.tokens, 5u);
  EXPECT_THAT(metrics(), HasSubstr(R"(finished_reason="length"} 1)"));
  EXPECT_THAT(metrics(), HasSubstr("inter_token_latency_seconds_count{model_name=\"nano\","
                                   "engine=\"0\"} 4\n"));
}

TEST_F(ReplyWriterTest, SignsOfLifeComeByTheClock) {
  write(model_.text_order("Once upon a time", 5), Nanos{0});
  EXPECT_THAT(writer_.told, HasSubstr("k"));
  EXPECT_THAT(writer_.told, HasSubstr("p"));
}

TEST_F(ReplyWriterTest, AClientThatGoesEndsItsRequest) {
  reply_.read_bytes = 20;
  write(long_order());
  EXPECT_THAT(writer_.told, Not(HasSubstr("e")));
  EXPECT_LE(writer_.told.size(), 22u);
  EXPECT_THAT(metrics(), HasSubstr(R"(finished_reason="abort"} 1)"));
  model_.engine.close(std::chrono::seconds(60));
  EXPECT_EQ(model_.engine.status().cancelled, 1u);
}

TEST_F(ReplyWriterTest, AServerThatStopsFailsTheRequest) {
  Problem problem;
  std::optional<ReplyRun> run = ReplyRun::start(model_.served, long_order(), problem);
  ASSERT_TRUE(run);
  model_.engine.close(Nanos{0});
  write_reply(*run, writer_, reply_, {}, metrics_);
  EXPECT_TRUE(writer_.told.ends_with("f"));
  ASSERT_TRUE(writer_.failure);
  EXPECT_EQ(writer_.failure->status, 503);
  EXPECT_THAT(metrics(), HasSubstr(R"(finished_reason="error"} 1)"));
}

TEST_F(ReplyWriterTest, EventsAreFramedForClients) {
  EventStream events(reply_);
  events.begin();
  events.data("{}");
  events.event("ping", "{\"a\":1}");
  events.comment("still here");
  EXPECT_EQ(reply_.response.body, "data: {}\n\nevent: ping\ndata: {\"a\":1}\n\n: still here\n\n");
  EXPECT_THAT(reply_.response.type, HasSubstr("text/event-stream"));
  EXPECT_THAT(reply_.response.headers,
              ::testing::Contains(::testing::Pair("Cache-Control", "no-cache")));
}

}  // namespace
}  // namespace sluice::server
