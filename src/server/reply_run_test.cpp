// Without these tests a reply could ignore its form, its stop strings or its budget, and what
// clients are told could differ from what the model said.
#include "server/reply_run.h"

#include "server/reply_test_model.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr Nanos kLong = std::chrono::seconds(60);

constexpr const char* kQuestion =
    R"({"messages":[{"role":"user","content":"What is the capital of France?"}])";

std::string request(const std::string& more) { return kQuestion + ("," + more) + "}"; }

struct Choice {
  text::Reply reply{};
  std::vector<TokenSeen> tokens{};
  std::optional<ReplyEnded> ended{};
  std::optional<Problem> failed{};
};

std::vector<Choice> collect(ReplyRun& run) {
  std::vector<Choice> choices(run.order().choices);
  while (!run.over()) {
    std::optional<ReplyUpdate> update = run.next(kLong);
    if (!update) {
      ADD_FAILURE() << "nothing happened";
      break;
    }
    Choice& choice = choices.at(update->choice);
    if (const auto* event = std::get_if<text::ReplyEvent>(&update->what)) choice.reply.add(*event);
    if (auto* seen = std::get_if<TokenSeen>(&update->what)) choice.tokens.push_back(*seen);
    if (auto* ended = std::get_if<ReplyEnded>(&update->what)) choice.ended = *ended;
    if (auto* failed = std::get_if<ReplyFailed>(&update->what)) choice.failed = failed->problem;
  }
  return choices;
}

class ReplyRunTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<TestModel>(); }
  static void TearDownTestSuite() { model_.reset(); }

  static std::vector<Choice> run(ReplyOrder order) {
    Problem problem;
    std::optional<ReplyRun> run = ReplyRun::start(model_->served, std::move(order), problem);
    if (!run) throw Error(ErrorCode::kInvalidInput, problem.message);
    return collect(*run);
  }
  static Choice reply_to(const std::string& more) {
    return run(model_->chat_order(request(more))).at(0);
  }

  static inline std::unique_ptr<TestModel> model_;
};

TEST_F(ReplyRunTest, APlainAnswer) {
  ReplyOrder order = model_->chat_order(request(R"("reasoning_effort":"none")"));
  order.logprobs = true;
  order.top_logprobs = 2;
  const Choice choice = run(std::move(order)).at(0);
  EXPECT_EQ(choice.reply.content, "The capital of France is Paris.");
  ASSERT_TRUE(choice.ended);
  EXPECT_EQ(choice.ended->end, text::ReplyEnd::kByItself);
  EXPECT_EQ(choice.ended->generated, choice.tokens.size());
  std::string bytes;
  for (const TokenSeen& seen : choice.tokens) {
    EXPECT_LE(seen.chosen.logprob, 0.0f);
    EXPECT_EQ(seen.chosen.top.size(), 2u);
    if (seen.channel == text::Channel::kContent) {
      bytes += model_->tokenizer.bytes(seen.chosen.token);
    }
  }
  EXPECT_EQ(bytes, choice.reply.content);
}

TEST_F(ReplyRunTest, AStopStringEndsIt) {
  ReplyOrder order = model_->chat_order(request(R"("reasoning_effort":"none")"));
  order.stops = {"France"};
  const Choice choice = run(std::move(order)).at(0);
  EXPECT_EQ(choice.reply.content, "The capital of ");
  EXPECT_EQ(choice.ended->end, text::ReplyEnd::kStopString);
  EXPECT_EQ(choice.ended->stop_string, "France");
}

TEST_F(ReplyRunTest, AnswersKeepTheirSchema) {
  const std::string schema = R"({"type":"object","required":["city","size"],"properties":{
      "city":{"enum":["Rome","Paris"]},"size":{"type":"integer","minimum":1,"maximum":9}}})";
  const Choice choice = reply_to(
      R"("reasoning_effort":"none","response_format":{"type":"json_schema","json_schema":{)"
      R"("name":"a","schema":)" +
      schema + "}}");
  const Json value = Json::parse(choice.reply.content, nullptr, false);
  ASSERT_TRUE(value.is_object()) << choice.reply.content;
  EXPECT_THAT(value["city"], ::testing::AnyOf("Rome", "Paris"));
  EXPECT_TRUE(value["size"].is_number_integer());
}

TEST_F(ReplyRunTest, ACallThatIsRequiredComes) {
  const Choice choice = reply_to(
      R"("reasoning_effort":"none","tool_choice":"required","parallel_tool_calls":false,"tools":[
         {"type":"function","function":{"name":"look_up","parameters":{"type":"object","properties":
         {"place":{"type":"string","maxLength":8}},"required":["place"]}}}])");
  ASSERT_EQ(choice.reply.calls.size(), 1u);
  EXPECT_EQ(choice.ended->calls, 1u);
  EXPECT_EQ(choice.reply.calls[0].name, "look_up");
  EXPECT_TRUE(Json::parse(choice.reply.calls[0].arguments).at("place").is_string());
}

TEST_F(ReplyRunTest, ABudgetEndsThinking) {
  for (const uint32_t budget : {0u, 1u, 7u}) {
    ReplyOrder order = model_->chat_order(request(R"("reasoning_effort":"high")"));
    order.thinking_budget = budget;
    order.max_tokens = 60;
    const Choice choice = run(std::move(order)).at(0);
    ASSERT_TRUE(choice.ended) << budget;
    EXPECT_LE(choice.ended->reasoning, budget);
    EXPECT_THAT(choice.reply.content, HasSubstr("Paris")) << choice.reply.reasoning;
  }
}

TEST_F(ReplyRunTest, MinTokensKeepsTheEndAway) {
  ReplyOrder order = model_->chat_order(request(R"("reasoning_effort":"none")"));
  order.min_tokens = 40;
  order.max_tokens = 50;
  EXPECT_GE(run(std::move(order)).at(0).ended->generated, 40u);
}

TEST_F(ReplyRunTest, ChoicesDifferAndRepeat) {
  ReplyOrder order = model_->text_order("Once upon a time", 24);
  order.choices = 3;
  order.sampling = {.temperature = 1.5, .seed = 5};
  const std::vector<Choice> first = run(order), second = run(order);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first[i].reply.content, second[i].reply.content);
    EXPECT_NE(first[i].reply.content, first[(i + 1) % 3].reply.content);
    EXPECT_EQ(first[i].ended->end, text::ReplyEnd::kCut);
  }
}

TEST_F(ReplyRunTest, APromptThatDoesNotFitNamesBothNumbers) {
  Problem problem;
  ReplyOrder order{.prompt = std::vector<TokenId>(512, TokenId{5})};
  EXPECT_FALSE(ReplyRun::start(model_->served, std::move(order), problem));
  EXPECT_EQ(problem.status, 400);
  EXPECT_EQ(problem.code, "context_length_exceeded");
  EXPECT_EQ(problem.prompt_tokens, 512u);
  EXPECT_EQ(problem.context, 512u);
  EXPECT_THAT(problem.message, HasSubstr("512"));
}

TEST_F(ReplyRunTest, TooManyTokensAreCutToTheContext) {
  ReplyOrder order = model_->text_order("Once upon a time", 1u << 30);
  order.ignore_eos = true;
  const auto prompt = static_cast<uint32_t>(order.prompt.size());
  const Choice choice = run(std::move(order)).at(0);
  EXPECT_EQ(choice.ended->end, text::ReplyEnd::kCut);
  EXPECT_EQ(choice.ended->generated, 512 - prompt);
}

TEST_F(ReplyRunTest, AFullQueueAndAClosedServerSaySo) {
  TestModel other({.sequences = 1, .queue_max = 0});
  ReplyOrder order = other.text_order("Once upon a time", 400);
  order.ignore_eos = true;
  Problem problem;
  {
    const std::optional<ReplyRun> running = ReplyRun::start(other.served, order, problem);
    ASSERT_TRUE(running);
    EXPECT_FALSE(ReplyRun::start(other.served, order, problem));
    EXPECT_EQ(problem.status, 429);
    EXPECT_GT(problem.retry_seconds, 0u);
  }
  other.engine.close(kLong);
  EXPECT_FALSE(ReplyRun::start(other.served, order, problem));
  EXPECT_EQ(problem.status, 503);
}

TEST_F(ReplyRunTest, WhatIsRefusedNamesItsField) {
  const auto refusal = [](const std::string& more) -> std::string {
    try {
      static_cast<void>(reply_to(more));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  EXPECT_THAT(refusal(R"("response_format":{"type":"json_schema","json_schema":{"name":"a",
                          "schema":{"not":{"type":"string"}}}})"),
              HasSubstr("response_format.json_schema.schema.not"));
}

}  // namespace
}  // namespace sluice::server
