// Without this, a conversation of a client of Anthropic's interface could reach the model as
// another one.
#include "server/anthropic_request.h"

#include "base/error.h"
#include "text/chat.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using testing::ElementsAre;
using testing::StartsWith;
using text::Role;

text::ChatRequest read(const std::string& json) {
  const text::JsonValue body = parse_body(json);
  return read_messages(Fields(body));
}

// A request of one user message and more fields.
std::string with(std::string_view fields) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}],{}}})", fields);
}

std::string with_block(std::string_view role, std::string_view block) {
  return fmt::format(R"({{"messages":[{{"role":"{}","content":[{}]}}]}})", role, block);
}

std::string with_result(std::string_view fields) {
  return fmt::format(R"({{"messages":[
      {{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"f","input":{{}}}}]}},
      {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t",{}}}]}}]}})",
                     fields);
}

TEST(AnthropicRequest, NamesTheFieldThatIsWrong) {
  const struct {
    std::string json, field;
  } refusals[] = {
      {"{}", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":{}})", "messages"},
      {R"({"messages":["x"]})", "messages[0]"},
      {R"({"messages":[{"role":"tool","content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user","content":1}]})", "messages[0].content"},
      {with_block("user", R"({"type":"image"})"), "messages[0].content[0].type"},
      {with_block("user", R"({"text":"x"})"), "messages[0].content[0].type"},
      {with_block("user", R"({"type":"text"})"), "messages[0].content[0].text"},
      {with_block("user", R"({"type":"tool_result","tool_use_id":"t"})"),
       "messages[0].content[0].tool_use_id"},
      {with_block("assistant", R"({"type":"tool_use","name":"f","input":{}})"),
       "messages[0].content[0].id"},
      {with_block("assistant", R"({"type":"tool_use","id":"t","name":"f","input":"x"})"),
       "messages[0].content[0].input"},
      {with_block("assistant", R"({"type":"tool_use","id":"t","name":"f","input":{}})"),
       "messages"},
      {with_result(R"("content":[{"type":"image"}])"), "messages[1].content[0].content[0].type"},
      {with(R"("system":[{"type":"image"}])"), "system[0].type"},
      {with(R"("tools":[{"type":"web_search_20250305","name":"web_search"}])"), "tools[0].type"},
      {with(R"("tools":[{"name":"1"}])"), "tools[0].name"},
      {with(R"("tools":[{"name":"f","input_schema":[]}])"), "tools[0].input_schema"},
      {with(R"("tool_choice":{"type":"any"})"), "tool_choice"},
      {with(R"("tool_choice":{"type":"tool","name":"f"})"), "tool_choice.name"},
      {with(R"("tool_choice":{"type":"maybe"})"), "tool_choice.type"},
      {with(R"("thinking":{"type":"maybe"})"), "thinking.type"},
      {with(R"("output_config":{"effort":"enormous"})"), "output_config.effort"},
      {with(R"("output_config":{"format":{"type":"text"}})"), "output_config.format.type"},
      {with(R"("output_config":{"format":{"type":"json_schema"}})"), "output_config.format.schema"},
      {with(R"("mcp_servers":[{}])"), "mcp_servers"},
      {R"({"messages":[{"role":"assistant","content":"x"}],"tools":[{"name":"f"}]})", "messages"},
  };
  for (const auto& [json, field] : refusals) {
    EXPECT_THAT([&] { static_cast<void>(read(json)); },
                testing::ThrowsMessage<Error>(StartsWith(field + ": ")))
        << json;
  }
}

TEST(AnthropicRequest, TurnsBlocksIntoMessages) {
  const text::ChatRequest chat = read(R"({
      "system":[{"type":"text","text":"x-anthropic-billing-header: cch=1"},
                {"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
      "messages":[
        {"role":"user","content":"Hi"},
        {"role":"assistant","content":[
          {"type":"thinking","thinking":"plan","signature":""},
          {"type":"redacted_thinking","data":"?"},
          {"type":"text","text":"Calling."},
          {"type":"tool_use","id":"a","name":"f","input":{"n":1.50}},
          {"type":"tool_use","id":"b","name":"g","input":{"_raw":"{\"x"}}]},
        {"role":"user","content":[
          {"type":"text","text":"And?"},
          {"type":"tool_result","tool_use_id":"b","is_error":true,"content":"broken"},
          {"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"21"}]}]}]})");
  const auto& messages = chat.messages;
  ASSERT_EQ(messages.size(), 6);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_THAT(messages[0].content, ElementsAre("Be brief."));
  EXPECT_THAT(messages[1].content, ElementsAre("Hi"));
  EXPECT_EQ(messages[2].reasoning, "plan");
  EXPECT_THAT(messages[2].content, ElementsAre("Calling."));
  ASSERT_EQ(messages[2].tool_calls.size(), 2);
  EXPECT_EQ(messages[2].tool_calls[0].arguments.at(0).value, "1.5");
  EXPECT_EQ(messages[2].tool_calls[1].broken_json, "{\"x");
  EXPECT_EQ(messages[3].role, Role::kTool);
  EXPECT_EQ(messages[3].tool_call_id, "b");
  EXPECT_THAT(messages[3].content, ElementsAre("Error: ", "broken"));
  EXPECT_EQ(messages[4].tool_name, "f");
  EXPECT_THAT(messages[4].content, ElementsAre("21"));
  EXPECT_EQ(messages[5].role, Role::kUser);
  EXPECT_THAT(messages[5].content, ElementsAre("And?"));
}

TEST(AnthropicRequest, AUserTurnOfResultsAloneHasNoUserMessage) {
  EXPECT_EQ(read(with_result(R"("content":"21")")).messages.size(), 2);
}

TEST(AnthropicRequest, GoesOnWithAnAnswerThatHasBegun) {
  EXPECT_TRUE(
      read(with_block("assistant", R"({"type":"text","text":"Sure"})")).continue_final_message);
  EXPECT_FALSE(read(with(R"("tools":[])")).continue_final_message);
}

TEST(AnthropicRequest, ReadsToolsAndTheirChoice) {
  constexpr std::string_view kTools =
      R"("tools":[{"name":"f","type":"custom","input_schema":{"type":"object"},"strict":true}])";
  const auto choose = [&](std::string_view choice) {
    return read(with(fmt::format(R"({},"tool_choice":{})", kTools, choice)));
  };
  const text::ChatRequest any = choose(R"({"type":"any","disable_parallel_tool_use":true})");
  EXPECT_EQ(any.tool_choice, text::ToolChoice::kRequired);
  EXPECT_FALSE(any.parallel_tool_calls);
  EXPECT_EQ(any.tools, R"([{"function":{"name":"f","parameters":{"type":"object"},"strict":true},)"
                       R"("type":"function"}])");
  EXPECT_EQ(any.signatures.at(0).path, "tools[0].input_schema");
  EXPECT_EQ(choose(R"({"type":"auto"})").tool_choice, text::ToolChoice::kAuto);
  EXPECT_EQ(choose(R"({"type":"none"})").tool_choice, text::ToolChoice::kNone);
  const text::ChatRequest named = choose(R"({"type":"tool","name":"f"})");
  EXPECT_EQ(named.tool_choice, text::ToolChoice::kNamed);
  EXPECT_EQ(named.tool_choice_name, "f");
  EXPECT_TRUE(named.parallel_tool_calls);
}

TEST(AnthropicRequest, ThinksUnlessToldOtherwise) {
  using text::Effort;
  const struct {
    std::string fields;
    bool thinking;
    Effort effort;
  } cases[] = {
      {R"("metadata":{})", true, Effort::kMax},
      {R"("thinking":{"type":"enabled","budget_tokens":2000})", true, Effort::kMax},
      {R"("thinking":{"type":"adaptive"},"output_config":{"effort":"low"})", true, Effort::kLow},
      {R"("output_config":{"effort":"medium"})", true, Effort::kHigh},
      {R"("thinking":{"type":"disabled"})", false, Effort::kMax},
  };
  for (const auto& [fields, thinking, effort] : cases) {
    const text::ChatRequest chat = read(with(fields));
    EXPECT_EQ(chat.thinking, thinking) << fields;
    EXPECT_EQ(chat.effort, effort) << fields;
  }
}

TEST(AnthropicRequest, ReadsAFormat) {
  for (const char* fields : {R"("output_format":{"type":"json_schema","schema":{"type":"object"}})",
                             R"("output_config":{"format":
                                 {"type":"json_schema","schema":{"type":"object"}}})"}) {
    const text::ChatRequest chat = read(with(fields));
    EXPECT_EQ(chat.response_format, text::ResponseFormat::kJsonSchema);
    EXPECT_EQ(chat.schema, R"({"type":"object"})");
    EXPECT_THAT(chat.schema_path, testing::EndsWith("format.schema"));
  }
}

TEST(AnthropicRequest, ReadsHowAReplyIsGenerated) {
  ReplyOrder order, plain;
  const text::JsonValue body = parse_body(R"({"max_tokens":9,"stop_sequences":["a","b"],"top_k":3,
      "n":4,"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":7}})");
  read_message_options(Fields(body), 100, order);
  EXPECT_EQ(order.max_tokens, 9);
  EXPECT_THAT(order.stops, ElementsAre("a", "b"));
  EXPECT_EQ(order.sampling.top_k, 3);
  EXPECT_EQ(order.sampling.temperature, 0.5);
  EXPECT_EQ(order.choices, 1);
  EXPECT_EQ(order.thinking_budget, 7);
  const text::JsonValue nothing = parse_body("{}");
  read_message_options(Fields(nothing), 100, plain);
  EXPECT_EQ(plain.max_tokens, 4096);
  EXPECT_EQ(plain.sampling.temperature, 1.0);
}

}  // namespace
}  // namespace sluice::server
