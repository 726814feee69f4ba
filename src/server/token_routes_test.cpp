// Without these tests a client could count other tokens than the model sees, or text of a user
// could become control tokens.
#include "base/error.h"
#include "server/handler.h"
#include "server/recorded_reply.h"
#include "server/reply_test_model.h"
#include "text/chat.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using testing::StartsWith;
using Json = nlohmann::json;

class TokenRoutes : public testing::Test {
 protected:
  Json post(Handle handle, const std::string& body) {
    RecordedReply reply;
    handle(context_, {.method = "POST", .path = "/", .query = {}, .body = body}, reply);
    return Json::parse(reply.response.body);
  }
  Json ids(const std::string& text, text::Specials specials = text::Specials::kOff) {
    Json ids = Json::array();
    for (const TokenId id : model_.tokenizer.encode(text, specials)) ids.push_back(id.value);
    return ids;
  }

  TestModel model_;
  Metrics metrics_;
  HandlerContext context_{.model = model_.served, .metrics = metrics_, .live = model_.live};
};

TEST_F(TokenRoutes, TextBecomesTokensInBothForms) {
  const Json expected = ids("Once upon a time");
  for (const char* field : {"content", "prompt"}) {
    const Json answer = post(handle_tokenize, Json{{field, "Once upon a time"}}.dump());
    EXPECT_EQ(answer["tokens"], expected) << field;
    EXPECT_EQ(answer["count"], expected.size()) << field;
    EXPECT_EQ(answer["max_model_len"], 512) << field;
  }
  EXPECT_EQ(post(handle_tokenize, R"({"content":"","add_special":true})")["tokens"], Json::array());
}

TEST_F(TokenRoutes, SpellingsAreControlTokensOnlyWhenAsked) {
  const std::string text = "a<|end_of_msg|>b";
  const Json off = ids(text), on = ids(text, text::Specials::kOn);
  ASSERT_NE(off, on);
  EXPECT_EQ(post(handle_tokenize, Json{{"content", text}}.dump())["tokens"], off);
  EXPECT_EQ(
      post(handle_tokenize, Json{{"content", text}, {"parse_special", true}}.dump())["tokens"], on);
}

TEST_F(TokenRoutes, PiecesThatAreNoCharactersAreBytes) {
  const Json tokens =
      post(handle_tokenize,
           Json{{"content", "a\xF0\x9F\xA6\xAB"}, {"with_pieces", true}}.dump())["tokens"];
  std::string bytes;
  bool has_array = false;
  for (const Json& token : tokens) {
    EXPECT_TRUE(token["id"].is_number());
    has_array |= token["piece"].is_array();
    if (token["piece"].is_string()) bytes += token["piece"].get<std::string>();
    if (token["piece"].is_array()) {
      for (const Json& byte : token["piece"]) bytes += static_cast<char>(byte.get<int>());
    }
  }
  EXPECT_EQ(bytes, "a\xF0\x9F\xA6\xAB");
  EXPECT_TRUE(has_array);
}

TEST_F(TokenRoutes, MessagesAreTokensOfTheChat) {
  const std::string body = R"({"messages":[{"role":"user","content":"Hi"}],"model":"x"})";
  const std::vector<TokenId> expected =
      text::encode_chat(model_.tokenizer, text::parse_chat_request(body));
  const Json answer = post(handle_tokenize, body);
  EXPECT_EQ(answer["count"], expected.size());
  // The template is what these tokens say.
  const Json prompt = post(handle_apply_template, body)["prompt"];
  EXPECT_EQ(post(handle_detokenize, Json{{"tokens", answer["tokens"]}}.dump())["content"], prompt);
}

TEST_F(TokenRoutes, TokensBecomeTextInBothForms) {
  const Json text = post(handle_detokenize, Json{{"tokens", ids("Once upon a time")}}.dump());
  EXPECT_EQ(text["content"], "Once upon a time");
  EXPECT_EQ(text["prompt"], "Once upon a time");
  EXPECT_EQ(post(handle_detokenize, R"({"tokens":[]})")["content"], "");
}

TEST_F(TokenRoutes, WhatIsMissingOrWrongIsNamed) {
  const std::string beyond = std::to_string(model_.tokenizer.vocab_size());
  const std::pair<std::pair<Handle, std::string>, const char*> cases[] = {
      {{handle_tokenize, "{}"}, "content: is missing"},
      {{handle_tokenize, R"({"content":5})"}, "content: must be a string"},
      {{handle_tokenize, R"({"prompt":["a"]})"}, "prompt: must be a string"},
      {{handle_tokenize, R"({"content":"a","with_pieces":1})"}, "with_pieces: "},
      {{handle_tokenize, R"({"messages":[{"role":"nobody"}]})"}, "messages[0].role: "},
      {{handle_tokenize, "[]"}, "request: "},
      {{handle_detokenize, "{}"}, "tokens: is missing"},
      {{handle_detokenize, R"({"tokens":"a"})"}, "tokens: must be an array"},
      {{handle_detokenize, R"({"tokens":[0,)" + beyond + "]}"}, "tokens[1]: "},
      {{handle_apply_template, "{}"}, "messages: "},
  };
  for (const auto& [call, message] : cases) {
    EXPECT_THAT([&] { post(call.first, call.second); },
                testing::ThrowsMessage<Error>(StartsWith(message)))
        << call.second;
  }
}

}  // namespace
}  // namespace sluice::server
