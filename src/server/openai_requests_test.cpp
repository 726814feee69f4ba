// Without this, a field of a request could be read wrongly, or ignored although it matters.
#include "base/error.h"
#include "server/fields.h"
#include "server/openai_chat.h"
#include "server/openai_completions.h"
#include "text/test_support.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const text::Tokenizer& tokenizer() {
  static const text::Tokenizer made =
      text::make_tokenizer(std::vector<std::string>{"He", "Hel", "lo"});
  return made;
}

ChatCompletion chat_of(const std::string& fields) {
  const std::string json = R"({"messages":[{"role":"user","content":"Hello"}])" +
                           (fields.empty() ? "" : "," + fields) + "}";
  return read_chat_completion(parse_body(json), tokenizer());
}

Completion completion_of(const std::string& json) {
  return read_completion(parse_body(json), tokenizer());
}

TEST(ChatRequest, HasTheDefaultsOfTheInterface) {
  const ChatCompletion completion = chat_of("");
  const ReplyOrder& order = completion.order;
  EXPECT_EQ(order.prompt, text::encode_chat(tokenizer(), *order.chat));
  EXPECT_EQ(order.chat->effort, text::Effort::kMax);
  EXPECT_FALSE(order.max_tokens.has_value());
  EXPECT_FALSE(order.thinking_budget.has_value());
  EXPECT_FALSE(completion.form.common.stream);
  EXPECT_TRUE(completion.form.reasoning);
}

TEST(ChatRequest, TheNewerNameOfTheMostTokensWins) {
  EXPECT_EQ(chat_of(R"("max_tokens":5)").order.max_tokens, 5);
  EXPECT_EQ(chat_of(R"("max_tokens":5,"max_completion_tokens":6)").order.max_tokens, 6);
  EXPECT_EQ(chat_of(R"("max_tokens":5,"max_completion_tokens":null)").order.max_tokens, 5);
}

TEST(ChatRequest, ReadsHowTheAnswerShallBe) {
  const ChatCompletion completion = chat_of(
      R"("stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true},
         "return_progress":true,"return_token_ids":true,"logprobs":true,"top_logprobs":20,"n":3,
         "include_reasoning":false,"thinking_token_budget":9)");
  const ChatForm& form = completion.form;
  EXPECT_TRUE(form.common.stream && form.common.usage && form.common.continuous_usage);
  EXPECT_TRUE(form.common.progress && form.common.token_ids && form.common.logprobs);
  EXPECT_EQ(form.common.choices, 3);
  EXPECT_FALSE(form.reasoning);
  EXPECT_EQ(form.prompt, completion.order.prompt);
  EXPECT_EQ(completion.order.choices, 3);
  EXPECT_EQ(completion.order.thinking_budget, 9);
  EXPECT_EQ(completion.order.top_logprobs, 20);
  EXPECT_TRUE(completion.order.logprobs);
}

TEST(ChatRequest, RefusesWhatItCannotObey) {
  struct Case {
    std::string fields, field;
  };
  const Case cases[] = {
      {R"("modalities":["text","audio"])", "modalities"},
      {R"("audio":{"voice":"x"})", "audio"},
      {R"("web_search_options":{})", "web_search_options"},
      {R"("functions":[])", "functions"},
      {R"("echo":true)", "echo"},
      {R"("logprobs":5)", "logprobs"},
      {R"("top_logprobs":2)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_completion_tokens":-1)", "max_completion_tokens"},
      {R"("thinking_token_budget":-1)", "thinking_token_budget"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("reasoning_effort":"medium")", "reasoning_effort"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("use_beam_search":true)", "use_beam_search"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT([&] { static_cast<void>(chat_of(c.fields)); },
                testing::ThrowsMessage<Error>(testing::StartsWith(c.field + ": ")))
        << c.fields;
  }
  EXPECT_THAT([&] { static_cast<void>(chat_of(R"("reasoning_effort":"medium")")); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("low, high or max")));
  EXPECT_NO_THROW(static_cast<void>(chat_of(R"("modalities":["text"],"audio":null)")));
}

TEST(CompletionRequest, TakesAllFormsOfPrompts) {
  const std::vector<TokenId> hello = tokenizer().encode("Hello");
  const std::string ids = fmt::format("[{},{}]", hello[0].value, hello[1].value);
  struct Case {
    std::string prompt;
    size_t more;
  };
  const Case cases[] = {{R"("Hello")", 0},
                        {R"(["Hello"])", 0},
                        {ids, 0},
                        {"[" + ids + "]", 0},
                        {fmt::format(R"(["Hello",{},"Hello"])", ids), 2}};
  for (const Case& c : cases) {
    const Completion completion =
        completion_of(fmt::format(R"({{"prompt":{},"echo":true}})", c.prompt));
    EXPECT_EQ(completion.order.prompt, hello) << c.prompt;
    EXPECT_FALSE(completion.order.chat.has_value());
    EXPECT_THAT(completion.order.more_prompts, SizeIs(c.more)) << c.prompt;
    EXPECT_THAT(completion.order.more_prompts, testing::Each(hello));
    EXPECT_THAT(completion.form.echo, testing::Each(std::string("Hello")));
    EXPECT_THAT(completion.form.echo, SizeIs(c.more + 1));
  }
}

TEST(CompletionRequest, ControlTokensAreTextUnlessTheClientSaysOtherwise) {
  const TokenId open = tokenizer().special().open;
  EXPECT_THAT(completion_of(R"({"prompt":"<|open|>"})").order.prompt,
              testing::Not(testing::Contains(open)));
  EXPECT_THAT(completion_of(R"({"prompt":"<|open|>","parse_special":true})").order.prompt,
              ElementsAre(open));
}

TEST(CompletionRequest, ReadsProbabilities) {
  EXPECT_FALSE(completion_of(R"({"prompt":"a"})").order.logprobs);
  const Completion none = completion_of(R"({"prompt":"a","logprobs":0})");
  EXPECT_TRUE(none.order.logprobs && none.form.common.logprobs);
  EXPECT_EQ(none.order.top_logprobs, 0);
  EXPECT_EQ(completion_of(R"({"prompt":"a","logprobs":5})").order.top_logprobs, 5);
  EXPECT_THAT(none.form.echo, ElementsAre(""));
  EXPECT_THAT(none.form.prompts, IsEmpty());
}

TEST(CompletionRequest, RefusesWhatItCannotObey) {
  struct Case {
    std::string json, field;
  };
  const Case cases[] = {
      {"{}", "prompt"},
      {R"({"prompt":""})", "prompt"},
      {R"({"prompt":5})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":[[]]})", "prompt[0]"},
      {R"({"prompt":["a",""]})", "prompt[1]"},
      {R"({"prompt":["a",5]})", "prompt"},
      {R"({"prompt":[5,"a"]})", "prompt[1]"},
      {R"({"prompt":[99999999]})", "prompt[0]"},
      {R"({"prompt":["a",[-1]]})", "prompt[1][0]"},
      {R"({"prompt":"a","suffix":"b"})", "suffix"},
      {R"({"prompt":"a","best_of":2})", "best_of"},
      {R"({"prompt":"a","logprobs":6})", "logprobs"},
      {R"({"prompt":"a","logprobs":true})", "logprobs"},
      {R"({"prompt":"a","logprobs":1,"echo":true})", "echo"},
      {R"({"prompt":"a","response_format":{"type":"json_object"}})", "response_format"},
      {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
      {fmt::format(R"({{"prompt":["a"{}],"n":128}})",
                   fmt::join(std::vector<std::string>(8, R"(,"a")"), "")),
       "prompt"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT([&] { static_cast<void>(completion_of(c.json)); },
                testing::ThrowsMessage<Error>(testing::StartsWith(c.field + ": ")))
        << c.json;
  }
}

}  // namespace
}  // namespace sluice::server
