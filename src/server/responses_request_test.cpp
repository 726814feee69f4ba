// Without this, a conversation of a client of the Responses could reach the model as another one.
#include "server/responses_request.h"

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
  const Fields fields(body);
  return read_response_chat(fields, ResponseTools(fields));
}

// A request of one message and more fields.
std::string with(std::string_view fields) { return fmt::format(R"({{"input":"x",{}}})", fields); }

std::string with_item(std::string_view item) { return fmt::format(R"({{"input":[{}]}})", item); }

TEST(ResponsesRequest, NamesTheFieldThatIsWrong) {
  const struct {
    std::string json, field;
  } refusals[] = {
      {"{}", "input"},
      {R"({"input":[]})", "input"},
      {R"({"input":1})", "input"},
      {with_item("1"), "input[0]"},
      {with_item(R"({"type":"item_reference","id":"x"})"), "input[0].type"},
      {with_item(R"({"role":"tool","content":"x"})"), "input[0].role"},
      {with_item(R"({"role":"user","content":[{"type":"input_image"}]})"),
       "input[0].content[0].type"},
      {with_item(R"({"type":"function_call","name":"f","arguments":"{}"})"), "input[0].call_id"},
      {with_item(R"({"type":"function_call","name":"f","call_id":"c","arguments":"[]"})"),
       "input[0].arguments"},
      {with_item(R"({"type":"function_call_output","call_id":"c","output":"x"})"),
       "input[0].call_id"},
      {with(R"("previous_response_id":"resp_1")"), "previous_response_id"},
      {with(R"("conversation":"conv_1")"), "conversation"},
      {with(R"("prompt":{"id":"p"})"), "prompt"},
      {with(R"("background":true)"), "background"},
      {with(R"("tools":[{"type":"web_search"},{"type":"function","name":"1"}])"), "tools[1].name"},
      {with(R"("tools":[{"type":"namespace","name":"n","tools":[
                {"type":"function","name":"f","parameters":1}]}])"),
       "tools[0].tools[0].parameters"},
      {with(R"("tool_choice":"required","tools":[{"type":"web_search"}])"), "tool_choice"},
      {with(R"("tool_choice":{"type":"function","name":"f"})"), "tool_choice.name"},
      {with(R"("tool_choice":{"type":"allowed_tools"})"), "tool_choice.type"},
      {with(R"("reasoning":{"effort":"enormous"})"), "reasoning.effort"},
      {with(R"("text":{"format":{"type":"xml"}})"), "text.format.type"},
      {with(R"("text":{"format":{"type":"json_schema","schema":{}}})"), "text.format.name"},
      {with(R"("text":{"format":{"type":"json_schema","name":"n"}})"), "text.format.schema"},
  };
  for (const auto& [json, field] : refusals) {
    EXPECT_THAT([&] { static_cast<void>(read(json)); },
                testing::ThrowsMessage<Error>(StartsWith(field + ": ")))
        << json;
  }
}

TEST(ResponsesRequest, JoinsTheItemsOfATurn) {
  const text::ChatRequest chat = read(R"({"instructions":"Be brief.","input":[
      {"role":"developer","content":"Now."},
      {"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},
      {"type":"reasoning","id":"rs_1","summary":[],
       "content":[{"type":"reasoning_text","text":"plan"}]},
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Calling."}]},
      {"type":"function_call","call_id":"a","name":"f","arguments":"{\"n\":1}"},
      {"type":"function_call","call_id":"b","name":"g","namespace":"s","arguments":"{\"x"},
      {"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"B"}]},
      {"type":"function_call_output","call_id":"a","output":"A"},
      {"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"sluice:kept"},
      {"type":"message","role":"assistant","content":"One."},
      {"type":"reasoning","id":"rs_3","summary":[{"type":"summary_text","text":"short"}],
       "encrypted_content":"from elsewhere"},
      {"type":"message","role":"assistant","content":"Two."}]})");
  const auto& messages = chat.messages;
  ASSERT_EQ(messages.size(), 8);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_THAT(messages[0].content, ElementsAre("Be brief."));
  EXPECT_EQ(messages[1].role, Role::kSystem);
  EXPECT_THAT(messages[2].content, ElementsAre("Hi"));
  EXPECT_EQ(messages[3].reasoning, "plan");
  EXPECT_THAT(messages[3].content, ElementsAre("Calling."));
  ASSERT_EQ(messages[3].tool_calls.size(), 2);
  EXPECT_EQ(messages[3].tool_calls[0].arguments.at(0).value, "1");
  EXPECT_EQ(messages[3].tool_calls[1].name, "s.g");
  EXPECT_EQ(messages[3].tool_calls[1].broken_json, "{\"x");
  EXPECT_EQ(messages[4].tool_call_id, "b");
  EXPECT_EQ(messages[4].tool_name, "s.g");
  EXPECT_THAT(messages[4].content, ElementsAre("B"));
  EXPECT_THAT(messages[5].content, ElementsAre("A"));
  EXPECT_EQ(messages[6].reasoning, "kept");
  EXPECT_THAT(messages[6].content, ElementsAre("One."));
  EXPECT_EQ(messages[7].reasoning, "short");
}

TEST(ResponsesRequest, ReadsToolsAndLeavesOutWhatIsNoFunction) {
  constexpr std::string_view kTools = R"("tools":[{"type":"web_search"},
      {"type":"custom","name":"apply_patch"},
      {"type":"function","name":"f","parameters":{"type":"object"},"strict":false},
      {"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}])";
  const auto choose = [&](std::string_view choice) {
    return read(with(fmt::format(R"({},"tool_choice":{})", kTools, choice)));
  };
  const text::ChatRequest chat = choose("\"required\"");
  EXPECT_EQ(chat.tool_choice, text::ToolChoice::kRequired);
  ASSERT_EQ(chat.signatures.size(), 2);
  EXPECT_EQ(chat.signatures[0].name, "f");
  EXPECT_EQ(chat.signatures[0].path, "tools[2].parameters");
  EXPECT_EQ(chat.signatures[1].name, "n.f");
  EXPECT_EQ(choose(R"({"type":"function","name":"f","namespace":"n"})").tool_choice_name, "n.f");
}

TEST(ResponsesRequest, ReadsEffortAndFormat) {
  EXPECT_EQ(read(with(R"("reasoning":{"effort":"medium","summary":"auto"})")).effort,
            text::Effort::kHigh);
  EXPECT_FALSE(read(with(R"("reasoning":{"effort":"none"})")).thinking);
  EXPECT_EQ(read(with(R"("reasoning":null)")).effort, text::Effort::kMax);
  EXPECT_EQ(read(with(R"("text":{"format":{"type":"json_object"}})")).response_format,
            text::ResponseFormat::kJsonObject);
  const text::ChatRequest chat = read(with(R"("parallel_tool_calls":false,"text":{"format":
      {"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}})"));
  EXPECT_EQ(chat.schema, R"({"type":"object"})");
  EXPECT_EQ(chat.schema_path, "text.format.schema");
  EXPECT_FALSE(chat.parallel_tool_calls);
}

TEST(ResponsesRequest, ReadsHowAReplyIsGenerated) {
  ReplyOrder order;
  const text::JsonValue body = parse_body(R"({"max_output_tokens":9,"top_logprobs":2,"n":4,
      "temperature":0.5,"include":["message.output_text.logprobs"]})");
  read_response_options(Fields(body), 100, order);
  EXPECT_EQ(order.max_tokens, 9);
  EXPECT_EQ(order.sampling.temperature, 0.5);
  EXPECT_EQ(order.choices, 1);
  EXPECT_TRUE(order.logprobs);
  EXPECT_EQ(order.top_logprobs, 2);
}

}  // namespace
}  // namespace sluice::server
