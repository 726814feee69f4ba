// Without this, a request that means something else than the prompt says could be accepted.
#include "base/error.h"
#include "text/chat.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using testing::StartsWith;

constexpr std::string_view kTool = R"({"type":"function","function":{"name":"f"}})";

// A request of one user message and more fields.
std::string with(std::string_view fields) {
  return fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}]{}{}}})",
                     fields.empty() ? "" : ",", fields);
}

std::string with_message(std::string_view message) {
  return fmt::format(R"({{"messages":[{{"role":"user"}},{}]}})", message);
}

std::string with_call(std::string_view call) {
  return with_message(fmt::format(R"({{"role":"assistant","tool_calls":[{}]}})", call));
}

std::string with_tool(std::string_view tool) { return with(fmt::format(R"("tools":[{}])", tool)); }

std::string with_schema(std::string_view schema) {
  return with(
      fmt::format(R"("response_format":{{"type":"json_schema","json_schema":{}}})", schema));
}

std::string named(std::string_view name) {
  return fmt::format(R"({{"type":"function","function":{{"name":"{}"}}}})", name);
}

void expect_refused(const std::string& json, const std::string& field) {
  try {
    static_cast<void>(parse_chat_request(json));
    ADD_FAILURE() << "accepted " << json;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
    EXPECT_THAT(error.what(), StartsWith(field + ": ")) << json;
  }
}

struct Refusal {
  std::string json, field;
};

TEST(ParseChat, NamesTheFieldOfTheRequestThatIsWrong) {
  const Refusal refusals[] = {
      {"", "request"},
      {"{", "request"},
      {"[]", "request"},
      {std::string(100'000, '['), "request"},
      {"{}", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":{}})", "messages"},
      {R"({"messages":["x"]})", "messages[0]"},
      {with(R"("functions":[])"), "functions"},
      {with(R"("function_call":"auto")"), "function_call"},
      {with(R"("reasoning_effort":"enormous")"), "reasoning_effort"},
      {with(R"("reasoning_effort":"medium")"), "reasoning_effort"},
      {with(R"("reasoning_effort":1)"), "reasoning_effort"},
      {with(R"("thinking":"yes")"), "thinking"},
      {with(R"("thinking":{"type":"maybe"})"), "thinking.type"},
      {with(R"("thinking":{"effort":"x"})"), "thinking.effort"},
      {with(R"("chat_template_kwargs":[])"), "chat_template_kwargs"},
      {with(R"("chat_template_kwargs":{"thinking":"x"})"), "chat_template_kwargs.thinking"},
      {with(R"("chat_template_kwargs":{"thinking_effort":"x"})"),
       "chat_template_kwargs.thinking_effort"},
      {with(R"("add_generation_prompt":1)"), "add_generation_prompt"},
      {with(R"("continue_final_message":true)"), "continue_final_message"},
      {R"({"messages":[{"role":"assistant"}],"continue_final_message":true,
           "add_generation_prompt":true})",
       "continue_final_message"},
      {R"({"messages":[{"role":"assistant"}],"continue_final_message":true,"tools":[)" +
           std::string(kTool) + "]}",
       "continue_final_message"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal.json, refusal.field);
}

TEST(ParseChat, NamesTheFieldOfTheMessageThatIsWrong) {
  const Refusal refusals[] = {
      {with_message("null"), "messages[1]"},
      {with_message("{}"), "messages[1].role"},
      {with_message(R"({"role":"robot"})"), "messages[1].role"},
      {with_message(R"({"role":1})"), "messages[1].role"},
      {with_message(R"({"role":"user","name":1})"), "messages[1].name"},
      {with_message(R"({"role":"user","content":1})"), "messages[1].content"},
      {with_message(R"({"role":"user","content":{}})"), "messages[1].content"},
      {with_message(R"({"role":"user","content":["x"]})"), "messages[1].content[0]"},
      {with_message(R"({"role":"user","content":[{"text":"x"}]})"), "messages[1].content[0].type"},
      {with_message(R"({"role":"user","content":[{"type":"text","text":"x"},
                       {"type":"image_url","image_url":{"url":"x"}}]})"),
       "messages[1].content[1].type"},
      {with_message(R"({"role":"user","content":[{"type":"text"}]})"),
       "messages[1].content[0].text"},
      {with_message(R"({"role":"assistant","reasoning_content":1})"),
       "messages[1].reasoning_content"},
      {with_message(R"({"role":"assistant","function_call":{}})"), "messages[1].function_call"},
      {with_message(R"({"role":"assistant","tool_calls":{}})"), "messages[1].tool_calls"},
      {with_call("1"), "messages[1].tool_calls[0]"},
      {with_call("{}"), "messages[1].tool_calls[0].name"},
      {with_call(R"({"function":{}})"), "messages[1].tool_calls[0].function.name"},
      {with_call(R"({"id":[],"name":"f"})"), "messages[1].tool_calls[0].id"},
      {with_call(R"({"name":"f","arguments":[]})"), "messages[1].tool_calls[0].arguments"},
      {with_call(R"({"name":"f","arguments":"[1]"})"), "messages[1].tool_calls[0].arguments"},
      {with_call(R"({"name":"f","arguments":"7"})"), "messages[1].tool_calls[0].arguments"},
      {with_call(R"({"function":{"name":"f","arguments":true}})"),
       "messages[1].tool_calls[0].function.arguments"},
      {with_message(R"({"role":"tool","content":"x"})"), "messages[1].tool_call_id"},
      {with_message(fmt::format(R"({{"role":"user","tools":[{}]}})", kTool)), "messages[1].tools"},
      {with_message(fmt::format(R"({{"role":"assistant","tools":[{}]}})", kTool)),
       "messages[1].tools"},
      {with_message(fmt::format(R"({{"role":"system","content":"x","tools":[{}]}})", kTool)),
       "messages[1].content"},
      {with_message(R"({"role":"system","tools":{}})"), "messages[1].tools"},
      {with_message(R"({"role":"system","tools":[null]})"), "messages[1].tools[0]"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal.json, refusal.field);
}

TEST(ParseChat, NamesTheToolOrFormatThatIsWrong) {
  const Refusal refusals[] = {
      {with(R"("tools":{})"), "tools"},
      {with_tool("null"), "tools[0]"},
      {with_tool(R"({"function":{"name":"f"}})"), "tools[0].type"},
      {with_tool(R"({"type":"magic","function":{"name":"f"}})"), "tools[0].type"},
      {with_tool(R"({"type":"function"})"), "tools[0].function"},
      {with_tool(R"({"type":"function","function":{}})"), "tools[0].function.name"},
      {with_tool(named("1bad_name")), "tools[0].function.name"},
      {with_tool(named("bad@name")), "tools[0].function.name"},
      {with_tool(named("a<b")), "tools[0].function.name"},
      {with_tool(named("")), "tools[0].function.name"},
      {with_tool(named(std::string(257, 'a'))), "tools[0].function.name"},
      {with_tool(named("f") + "," + named("f")), "tools[1].function.name"},
      {R"({"messages":[{"role":"system","tools":[)" + named("f") + R"(]}],"tools":[)" + named("f") +
           "]}",
       "messages[0].tools[0].function.name"},
      {with_tool(R"({"type":"function","function":{"name":"f","strict":"yes"}})"),
       "tools[0].function.strict"},
      {with_tool(R"({"type":"function","function":{"name":"f","parameters":"x"}})"),
       "tools[0].function.parameters"},
      {with(R"("parallel_tool_calls":1)"), "parallel_tool_calls"},
      {with(R"("tool_choice":"required")"), "tool_choice"},
      {with(R"("tool_choice":"required","tools":[])"), "tool_choice"},
      {with(R"("tool_choice":"bogus")"), "tool_choice"},
      {with(R"("tool_choice":1)"), "tool_choice"},
      {with(R"("tool_choice":{"type":"function"})"), "tool_choice"},
      {with(R"("tool_choice":{"type":"function","function":{"name":"g"}})"),
       "tool_choice.function.name"},
      {with(R"("response_format":"json_object")"), "response_format"},
      {with(R"("response_format":{})"), "response_format.type"},
      {with(R"("response_format":{"type":"bogus"})"), "response_format.type"},
      {with(R"("response_format":{"type":"json_schema"})"), "response_format.json_schema"},
      {with_schema(R"({"schema":{}})"), "response_format.json_schema.name"},
      {with_schema(R"({"name":"n"})"), "response_format.json_schema.schema"},
      {with_schema(R"({"name":"n","schema":"x"})"), "response_format.json_schema.schema"},
      {with_schema(R"({"name":"n","schema":{},"strict":"yes"})"),
       "response_format.json_schema.strict"},
  };
  for (const Refusal& refusal : refusals) expect_refused(refusal.json, refusal.field);
}

TEST(ParseChat, TurnsTheKnobsOfAllClientsIntoEffort) {
  struct Knobs {
    std::string_view fields;
    bool thinking;
    Effort effort;
  };
  constexpr Knobs kKnobs[] = {
      {"", true, Effort::kMax},
      {R"("reasoning_effort":null)", true, Effort::kMax},
      {R"("reasoning_effort":"low")", true, Effort::kLow},
      {R"("reasoning_effort":"minimal")", true, Effort::kLow},
      {R"("reasoning_effort":"high")", true, Effort::kHigh},
      {R"("reasoning_effort":"xhigh")", true, Effort::kMax},
      {R"("reasoning_effort":"none")", false, Effort::kMax},
      {R"("thinking":{"type":"disabled"})", false, Effort::kMax},
      {R"("thinking":{"type":"enabled","keep":"all","effort":"high"})", true, Effort::kHigh},
      {R"("thinking":{"effort":"low"},"reasoning_effort":"max")", true, Effort::kLow},
      {R"("thinking":{"type":"enabled"},"reasoning_effort":"none")", true, Effort::kMax},
      {R"("chat_template_kwargs":{"thinking":false},"reasoning_effort":"low")", false,
       Effort::kLow},
      {R"("chat_template_kwargs":{"enable_thinking":false})", false, Effort::kMax},
      {R"("chat_template_kwargs":{"thinking":true},"thinking":{"type":"disabled"})", true,
       Effort::kMax},
      {R"("chat_template_kwargs":{"thinking_effort":"high"},"reasoning_effort":"none")", true,
       Effort::kHigh},
  };
  for (const Knobs& knobs : kKnobs) {
    const ChatRequest request = parse_chat_request(with(knobs.fields));
    EXPECT_EQ(request.thinking, knobs.thinking) << knobs.fields;
    EXPECT_EQ(request.effort, knobs.effort) << knobs.fields;
  }
}

TEST(ParseChat, AcceptsWhatClientsSendBeyondTheFormat) {
  for (const std::string& json : {
           with(R"("model":"x","temperature":0.5,"stream":true,"user":null)"),
           with(R"("tools":[],"tool_choice":"auto")"),
           with(R"("tools":null,"tool_choice":"none")"),
           with(R"("response_format":{"type":"text"})"),
           with_message(R"({"role":"assistant","content":null,"tool_calls":null,"audio":1})"),
           with_tool(named("mcp.server-1_" + std::string(200, 'a'))),
       }) {
    EXPECT_NO_THROW(static_cast<void>(parse_chat_request(json))) << json;
  }
}

TEST(ParseChat, KeepsTheChoiceOfOneTool) {
  const ChatRequest request =
      parse_chat_request(with(fmt::format(R"("tools":[{}],"tool_choice":{})", kTool, named("f"))));
  EXPECT_EQ(request.tool_choice, ToolChoice::kNamed);
  EXPECT_EQ(request.tool_choice_name, "f");
  EXPECT_EQ(request.tools, R"([{"function":{"name":"f"},"type":"function"}])");
}

// The prompt has the keys sorted; a reply follows the client's order.
TEST(ParseChat, KeepsTheOrderOfSchemas) {
  constexpr std::string_view kSchema = R"({"properties":{"b":true,"a":{"minimum":2}}})";
  const std::string tool = fmt::format(
      R"({{"type":"function","function":{{"name":"f","strict":true,"parameters":{}}}}})", kSchema);
  const ChatRequest request = parse_chat_request(fmt::format(
      R"({{"messages":[{{"role":"system","tools":[{}]}}],"tools":[{}],"parallel_tool_calls":false,
          "response_format":{{"type":"json_schema","json_schema":{{"name":"n","schema":{}}}}}}})",
      R"({"type":"function","function":{"name":"g"}})", tool, kSchema));
  ASSERT_EQ(request.signatures.size(), 2u);
  EXPECT_EQ(request.signatures[0].name, "f");
  EXPECT_EQ(request.signatures[0].path, "tools[0].function.parameters");
  EXPECT_TRUE(request.signatures[0].strict);
  EXPECT_EQ(dump_json(request.signatures[0].parameters, JsonStyle::kCompact), kSchema);
  EXPECT_EQ(request.signatures[1].path, "messages[0].tools[0].function.parameters");
  EXPECT_FALSE(request.signatures[1].strict);
  EXPECT_EQ(request.signatures[1].parameters.kind, JsonValue::Kind::kNull);
  EXPECT_EQ(dump_json(request.schema_as_sent, JsonStyle::kCompact), kSchema);
  EXPECT_FALSE(request.parallel_tool_calls);
  EXPECT_TRUE(parse_chat_request(with("")).parallel_tool_calls);
}

TEST(ParseChat, UsesTheNamesOfAnotherInterfaceInMessages) {
  const ChatNames names{.tools = {"tools[3]"},
                        .function = "",
                        .parameters = ".input_schema",
                        .schema = "format.schema"};
  const auto parse = [&](const std::string& json) {
    return parse_chat_request(*parse_json(json).value, names);
  };
  const Refusal refusals[] = {
      {with_tool(R"({"type":"function","function":{"name":"1"}})"), "tools[3].name"},
      {with_tool(R"({"type":"function","function":{"name":"f","parameters":[]}})"),
       "tools[3].input_schema"},
      {with(fmt::format(R"("tool_choice":{})", named("f"))), "tool_choice.name"},
      {with_schema(R"({"name":"n","schema":[]})"), "format.schema"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_THAT([&] { static_cast<void>(parse(refusal.json)); },
                testing::ThrowsMessage<Error>(StartsWith(refusal.field + ": ")));
  }
  const ChatRequest request = parse(with_schema(R"({"name":"n","schema":{}})"));
  EXPECT_EQ(request.schema_path, "format.schema");
}

}  // namespace
}  // namespace sluice::text
