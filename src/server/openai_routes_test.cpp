// Without this, the OpenAI interfaces could answer another prompt than the one that was asked.
#include "server/handler.h"
#include "server/recorded_reply.h"
#include "server/reply_test_model.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using Json = nlohmann::json;

constexpr const char* kQuestion =
    R"("messages":[{"role":"user","content":"What is the capital of France?"}])";

class OpenAiRoutes : public testing::Test {
 protected:
  static void SetUpTestSuite() { model_ = std::make_unique<TestModel>(); }
  static void TearDownTestSuite() { model_.reset(); }

  HttpResponse post(Handle handle, const std::string& fields) {
    RecordedReply reply;
    handle(context_, {.method = "POST", .path = "/", .query = {}, .body = "{" + fields + "}"},
           reply);
    return reply.response;
  }
  Json answer_of(Handle handle, const std::string& fields) {
    const HttpResponse response = post(handle, fields);
    EXPECT_EQ(response.status, 200) << response.body;
    return Json::parse(response.body);
  }
  std::vector<std::string> completions(const std::string& fields) {
    const Json answer = answer_of(handle_completions, R"("max_tokens":6,)" + fields);
    std::vector<std::string> texts;
    for (const Json& choice : answer["choices"]) texts.push_back(choice["text"]);
    return texts;
  }

  static std::unique_ptr<TestModel> model_;
  Metrics metrics_;
  HandlerContext context_{.model = model_->served, .metrics = metrics_, .live = model_->live};
};
std::unique_ptr<TestModel> OpenAiRoutes::model_;

TEST_F(OpenAiRoutes, AnyModelIsTheServedOneUnlessTheServerIsStrict) {
  const std::string other = R"("model":"other","prompt":"One","max_tokens":1)";
  EXPECT_EQ(answer_of(handle_completions, other)["model"], "nano");
  context_.strict_model = true;
  for (const std::string& fields : {other, std::string(R"("prompt":"One","max_tokens":1)")}) {
    const HttpResponse refused = post(handle_completions, fields);
    EXPECT_EQ(refused.status, 404);
    EXPECT_EQ(Json::parse(refused.body)["error"]["code"], "model_not_found");
  }
  EXPECT_EQ(post(handle_chat_completions, R"("model":"other",)" + std::string(kQuestion)).status,
            404);
  EXPECT_EQ(post(handle_completions, R"("model":"nano","prompt":"One","max_tokens":1)").status,
            200);
}

TEST_F(OpenAiRoutes, APromptThatIsTooLongIsRefusedBeforeTheStreamBegins) {
  const std::string prompts =
      fmt::format(R"("stream":true,"prompt":[[1],{}])", Json(std::vector<int>(600, 1)).dump());
  const HttpResponse refused = post(handle_completions, prompts);
  EXPECT_EQ(refused.status, 400);
  const Json error = Json::parse(refused.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "prompt");
  EXPECT_THAT(error["message"].get<std::string>(),
              testing::AllOf(testing::HasSubstr("600"), testing::HasSubstr("512")));
}

TEST_F(OpenAiRoutes, ManyTokensAreAsManyAsThereIsRoomFor) {
  const Json answer = answer_of(handle_completions,
                                fmt::format(R"("prompt":{},"max_tokens":131072,"ignore_eos":true)",
                                            Json(std::vector<int>(500, 1)).dump()));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer["usage"]["total_tokens"], 512);
}

TEST_F(OpenAiRoutes, CountsTheTokensOfAChatAsItsUsageDoes) {
  const Json counted = answer_of(handle_chat_input_tokens, kQuestion);
  const Json answer =
      answer_of(handle_chat_completions, R"("max_tokens":1,)" + std::string(kQuestion));
  EXPECT_EQ(counted["input_tokens"], answer["usage"]["prompt_tokens"]);
}

TEST_F(OpenAiRoutes, SeveralPromptsGetTheAnswersThatEachGetsAlone) {
  const std::string rest = R"(,"temperature":1,"seed":7,"n":2)";
  const std::vector<std::string> first = completions(R"("prompt":"The capital of")" + rest),
                                 second = completions(R"("prompt":"Once upon a")" + rest);
  EXPECT_NE(first, second);
  EXPECT_THAT(completions(R"("prompt":["The capital of","Once upon a"])" + rest),
              testing::ElementsAre(first[0], first[1], second[0], second[1]));
}

TEST_F(OpenAiRoutes, ASeedRepeatsAllChoices) {
  const std::string fields = R"("prompt":"Once upon a","temperature":2,"n":3,"seed":)";
  const std::vector<std::string> texts = completions(fields + "5");
  EXPECT_EQ(completions(fields + "5"), texts);
  EXPECT_NE(completions(fields + "6"), texts);
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_NE(texts[1], texts[2]);
}

}  // namespace
}  // namespace sluice::server
