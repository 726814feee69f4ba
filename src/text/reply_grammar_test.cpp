// Without this, a reply could call no tool where one is required, call it wrongly, or get stuck.
#include "text/reply_grammar.h"

#include "base/error.h"
#include "text/json_value.h"
#include "text/reply_test_support.h"
#include "text/test_support.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

const Tokenizer& tokenizer() {
  static const Tokenizer tokenizer = [] {
    const std::vector<std::string> words = {
        "th",      "ink",  "think", "res",   "response", "too",  "tools",   "tool",   "argument",
        " tool",   "=\"",  "get",   "_time", "get_time", "call", " index",  " key",   " type",
        "\":",     "\",",  "{\"",   "\"}",   "true",     "nu",   "null",    "string", "city",
        "message", "json", "}}",    "[[",    "ob",       "12",   "\xE4\xB8"};
    return make_tokenizer(words);
  }();
  return tokenizer;
}

const TokenTree& tree() {
  static const TokenTree tree(tokenizer());
  return tree;
}

constexpr std::string_view kTools = R"("tools":[
  {"type":"function","function":{"name":"get","parameters":{"type":"object","properties":{
    "city":{"type":"string","minLength":1},
    "days":{"type":["integer","null"],"minimum":1,"maximum":16},
    "unit":{"enum":["C","F"]}},"required":["city"]}}},
  {"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}},
  {"type":"function","function":{"name":"put","parameters":{"anyOf":[
    {"properties":{"a":{"type":"integer"}},"required":["a"]},
    {"properties":{"b":{"type":"boolean"}},"required":["b"]}]}}},
  {"type":"function","function":{"name":"now"}}])";

ChatRequest request(std::string_view fields) {
  return parse_chat_request(
      fmt::format(R"({{"messages":[{{"role":"user","content":"x"}}],{}}})", fields));
}

ChatRequest request_with_tools(std::string_view fields) {
  return request(fmt::format("{},{}", kTools, fields));
}

// The tokens of a reply in which markers stand as their spellings, each piece of text tokenised
// alone; a space of the markup begins a piece.
std::vector<TokenId> tokens_of(std::string_view script) {
  std::vector<TokenId> ids;
  std::string_view rest = script;
  const auto take_text = [&](size_t size) {
    for (const TokenId id : tokenizer().encode(rest.substr(0, size))) ids.push_back(id);
    rest.remove_prefix(size);
  };
  bool in_tag = false;
  while (!rest.empty()) {
    if (rest.starts_with("<|")) {
      const size_t size = rest.find("|>") + 2;
      const std::string_view marker = rest.substr(0, size);
      in_tag = marker == "<|open|>" || marker == "<|close|>";
      ids.push_back(tokenizer().encode(marker, Specials::kOn).at(0));
      rest.remove_prefix(size);
    } else if (!in_tag) {
      take_text(std::min(rest.find("<|"), rest.size()));
    } else if (rest.starts_with("=\"")) {
      take_text(2);
    } else if (rest.starts_with("\"")) {
      take_text(1);
    } else {
      take_text(rest.find_first_of("=\"< ", 1));
    }
  }
  return ids;
}

// How many of the tokens are allowed, one after the other.
size_t allowed_tokens(ReplyConstraint& constraint, const std::vector<TokenId>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!constraint.mask().allows(ids[i])) return i;
    constraint.push(ids[i]);
  }
  return ids.size();
}

bool accepts(const ChatRequest& request, std::string_view script) {
  ReplyGrammar grammar(tokenizer(), tree(), request);
  ReplyConstraint constraint(grammar, request.thinking ? Channel::kReasoning : Channel::kContent);
  const std::vector<TokenId> ids = tokens_of(script);
  return allowed_tokens(constraint, ids) == ids.size() && constraint.finished();
}

constexpr std::string_view kThought = "hm<|close|>think<|sep|><|open|>response<|sep|>";
constexpr std::string_view kEnd = "<|close|>message<|sep|><|end_of_msg|>";

// A reply with an answer and, if not empty, calls.
std::string reply(std::string_view answer, std::string_view calls = "") {
  return fmt::format("{}{}<|close|>response<|sep|>{}{}{}{}", kThought, answer,
                     calls.empty() ? "" : "<|open|>tools<|sep|>", calls,
                     calls.empty() ? "" : "<|close|>tools<|sep|>", kEnd);
}

std::string call(std::string_view name, int index, std::string_view arguments) {
  return fmt::format("<|open|>call tool=\"{}\" index=\"{}\"<|sep|>{}<|close|>call<|sep|>", name,
                     index, arguments);
}

std::string argument(std::string_view key, std::string_view type, std::string_view value) {
  return fmt::format("<|open|>argument key=\"{}\" type=\"{}\"<|sep|>{}<|close|>argument<|sep|>",
                     key, type, value);
}

std::string json_block(std::string_view json) {
  return fmt::format("<|open|>json type=\"object\"<|sep|>{}<|close|>json<|sep|>", json);
}

const std::string kCity = argument("city", "string", "Rome");

TEST(ReplyGrammar, FreeTextHasTheMarkupOfTheFormatOnly) {
  const ChatRequest plain = request("\"seed\":1");
  EXPECT_TRUE(accepts(plain, reply("Hello \"<\n")));
  EXPECT_TRUE(accepts(plain, reply("")));
  EXPECT_FALSE(accepts(plain, reply("Hi", call("get", 1, kCity))));
  EXPECT_FALSE(accepts(plain, fmt::format("hm{}", kEnd)));
  EXPECT_FALSE(accepts(plain, fmt::format("{}Hi{}", kThought, kEnd)));
  EXPECT_FALSE(accepts(plain, "hm<|end_of_msg|>"));
  EXPECT_FALSE(accepts(plain, "hm<|close|>response<|sep|>"));
  const ChatRequest quick = request(R"("reasoning_effort":"none")");
  EXPECT_TRUE(accepts(quick, fmt::format("Hi<|close|>response<|sep|>{}", kEnd)));
}

TEST(ReplyGrammar, ReplyOfAPromptThatOpensNoChannel) {
  ReplyGrammar grammar(tokenizer(), tree(), request("\"seed\":1"));
  for (const std::string_view opening : {"<|open|>think<|sep|>hm<|close|>think<|sep|>", ""}) {
    ReplyConstraint constraint(grammar, Channel::kMarkup);
    const std::vector<TokenId> ids = tokens_of(
        fmt::format("{}<|open|>response<|sep|>Hi<|close|>response<|sep|>{}", opening, kEnd));
    EXPECT_EQ(allowed_tokens(constraint, ids), ids.size()) << opening;
    EXPECT_TRUE(constraint.finished());
    EXPECT_TRUE(constraint.mask().allows(tokenizer().special().end_of_msg));
  }
}

TEST(ReplyGrammar, CallsKeepTheSchemas) {
  struct Case {
    std::string calls;
    bool good;
  };
  const Case kCases[] = {
      {call("get", 1, kCity), true},
      {call("get", 1, kCity + argument("days", "number", "16")), true},
      {call("get", 1, argument("days", "null", "null") + kCity), true},
      {call("get", 1, argument("unit", "string", "F") + kCity), true},
      {call("get", 1, kCity) + call("get_time", 2, "") + call("now", 3, ""), true},
      {call("put", 1, json_block(R"({"a":12})")), true},
      {call("put", 1, json_block(R"({"b":true})")), true},
      {call("get", 1, argument("city", "string", "<no marker>\n\"\\")), true},
      {call("get", 1, ""), false},
      {call("get", 1, argument("days", "number", "1")), false},
      {call("get", 1, argument("city", "string", "")), false},
      {call("get", 1, argument("city", "number", "1")), false},
      {call("get", 1, kCity + kCity), false},
      {call("get", 1, kCity + argument("days", "number", "17")), false},
      {call("get", 1, kCity + argument("days", "number", "")), false},
      {call("get", 1, kCity + argument("unit", "string", "K")), false},
      {call("get", 1, kCity + argument("town", "string", "x")), false},
      {call("get", 1, json_block(R"({"city":"x"})")), false},
      {call("get_time", 1, kCity), false},
      {call("put", 1, ""), false},
      {call("put", 1, json_block(R"({"a":true})")), false},
      {call("put", 1, json_block(R"({"a":1})") + json_block(R"({"a":1})")), false},
      {call("set", 1, kCity), false},
      {call("get", 2, kCity), false},
      {call("get", 1, kCity) + call("get", 1, kCity), false},
  };
  for (const char* const choice : {"auto", "required"}) {
    const ChatRequest request = request_with_tools(fmt::format("\"tool_choice\":\"{}\"", choice));
    EXPECT_EQ(accepts(request, reply("No.")), std::string_view(choice) == "auto");
    for (const Case& one : kCases) {
      EXPECT_EQ(accepts(request, reply("", one.calls)), one.good) << one.calls;
    }
    EXPECT_TRUE(accepts(request, reply("I look.", kCases[0].calls)));
  }
}

TEST(ReplyGrammar, ToolChoiceAndParallelCalls) {
  const std::string get = call("get", 1, kCity), time = call("get_time", 1, "");
  const ChatRequest none = request_with_tools(R"("tool_choice":"none")");
  EXPECT_FALSE(accepts(none, reply("", get)));
  EXPECT_TRUE(accepts(none, reply("No.")));
  const ChatRequest named =
      request_with_tools(R"("tool_choice":{"type":"function","function":{"name":"get_time"}})");
  EXPECT_TRUE(accepts(named, reply("", time)));
  EXPECT_FALSE(accepts(named, reply("", time + call("get_time", 2, ""))));
  EXPECT_FALSE(accepts(named, reply("", get)));
  EXPECT_FALSE(accepts(named, reply("No.")));
  const ChatRequest one = request_with_tools(R"("parallel_tool_calls":false)");
  EXPECT_TRUE(accepts(one, reply("", get)));
  EXPECT_FALSE(accepts(one, reply("", time + call("get", 2, kCity))));
}

TEST(ReplyGrammar, TheAnswerIsJsonWhereAFormatAsksForIt) {
  const ChatRequest object = request(R"("response_format":{"type":"json_object"})");
  EXPECT_TRUE(accepts(object, reply(R"({"a":[1,{"b":null}]})")));
  EXPECT_FALSE(accepts(object, reply("")));
  EXPECT_FALSE(accepts(object, reply("[1]")));
  EXPECT_FALSE(accepts(object, reply(R"({"a":1)")));
  constexpr std::string_view kFormat =
      R"("response_format":{"type":"json_schema","json_schema":{"name":"n","schema":
         {"type":"object","properties":{"z":{"type":"integer"},"a":{"type":"null"}},
          "required":["z","a"]}}})";
  const ChatRequest schema = request(kFormat);
  EXPECT_TRUE(accepts(schema, reply(R"({"z":1,"a":null})")));
  EXPECT_FALSE(accepts(schema, reply(R"({"a":null,"z":1})")));
  const ChatRequest both = request_with_tools(kFormat);
  EXPECT_TRUE(accepts(both, reply(R"({"z":1,"a":null})")));
  EXPECT_TRUE(accepts(both, reply("", call("get_time", 1, ""))));
  EXPECT_FALSE(accepts(both, reply("")));
  EXPECT_FALSE(accepts(both, reply("Hi", call("get_time", 1, ""))));
}

TEST(ReplyGrammar, ACopyGoesOnByItself) {
  ReplyGrammar grammar(tokenizer(), tree(), request_with_tools(R"("tool_choice":"required")"));
  ReplyConstraint first(grammar, Channel::kReasoning);
  const std::vector<TokenId> begin =
      tokens_of(fmt::format("{}<|close|>response<|sep|><|open|>tools<|sep|>", kThought));
  ASSERT_EQ(allowed_tokens(first, begin), begin.size());
  ReplyConstraint second = first;
  const std::string end = fmt::format("<|close|>tools<|sep|>{}", kEnd);
  const std::vector<TokenId> time = tokens_of(call("get_time", 1, "") + end);
  const std::vector<TokenId> get = tokens_of(call("get", 1, kCity) + end);
  EXPECT_EQ(allowed_tokens(first, time), time.size());
  EXPECT_EQ(allowed_tokens(second, get), get.size());
}

std::string request_with_schema(std::string_view parameters, bool strict) {
  return fmt::format(
      R"({{"messages":[{{"role":"user"}}],"tools":[{{"type":"function","function":{{
          "name":"f","strict":{},"parameters":{}}}}}]}})",
      strict, parameters);
}

TEST(ReplyGrammar, WhatIsNotSupportedIsRefusedWhenStrictAndElseTold) {
  struct Case {
    std::string_view parameters, message;
    std::string call;
  };
  const Case kCases[] = {
      {R"({"properties":{"a":{"not":{}}},"required":["a"]})",
       "tools[0].function.parameters.properties.a.not: is not supported",
       argument("a", "boolean", "true")},
      {R"({"patternProperties":{}})",
       "tools[0].function.parameters.patternProperties: is not supported", json_block("{}")},
      {R"({"properties":{"a":{"type":"integer","minimum":2,"maximum":1}},"required":["a"]})",
       "tools[0].function.parameters.properties.a: is required, but no value satisfies it",
       argument("a", "string", "x")},
      {R"({"properties":{"next":{"$ref":"#"}},"required":["next"]})",
       "tools[0].function.parameters.properties.next: is required, but no value satisfies it",
       argument("next", "object", "{}")},
      {R"({"type":"integer"})", "tools[0].function.parameters: no value", json_block("{}")},
  };
  for (const Case& one : kCases) {
    const ChatRequest loose = parse_chat_request(request_with_schema(one.parameters, false));
    EXPECT_THAT(ReplyGrammar(tokenizer(), tree(), loose).ignored(),
                ElementsAre(StartsWith(std::string(one.message))));
    EXPECT_TRUE(accepts(loose, reply("", call("f", 1, one.call)))) << one.parameters;
    const ChatRequest strict = parse_chat_request(request_with_schema(one.parameters, true));
    try {
      const ReplyGrammar grammar(tokenizer(), tree(), strict);
      ADD_FAILURE() << one.parameters;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
      EXPECT_THAT(error.what(), StartsWith(std::string(one.message)));
    }
  }
  EXPECT_THAT(ReplyGrammar(tokenizer(), tree(), request_with_tools("\"seed\":1")).ignored(),
              IsEmpty());
}

// What the format would write for a turn of the history is what a reply may be, token by token.
void expect_history_allowed(const Tokenizer& used) {
  constexpr std::string_view kFields =
      R"("tools":[{"type":"function","function":{"name":"get_weather","parameters":{"properties":{
           "city":{"type":"string"},"days":{"type":"integer"},"all":{"type":"boolean"},
           "a\"&":{"type":"null"},"o":{"type":"object"},"l":{"items":{"type":"number"}}},
           "required":["city"]}}}])";
  constexpr std::string_view kAnswer =
      R"(,{"role":"assistant","reasoning":"Need the tool.","content":"I look at 中文.","tool_calls":[
           {"id":"1","function":{"name":"get_weather","arguments":{"city":"Paris \"x\"",
            "o":{"k":[1,{"m":null}],"n":"é\n"},"all":true,"a\"&":null,"l":[1,-2.5,1e-7]}}},
           {"id":"2","function":{"name":"get_weather","arguments":{"days":12,"city":""}}}]})";
  const auto request_of = [&](std::string_view answer, bool goes_on) {
    return parse_chat_request(
        fmt::format(R"({{"messages":[{{"role":"user"}}{}],"add_generation_prompt":{},{}}})", answer,
                    goes_on, kFields));
  };
  const ChatRequest asked = request_of("", true), answered = request_of(kAnswer, false);
  const std::vector<TokenId> prompt = encode_chat(used, asked), whole = encode_chat(used, answered);
  ASSERT_TRUE(std::equal(prompt.begin(), prompt.end(), whole.begin()));
  const TokenTree used_tree(used);
  ReplyGrammar grammar(used, used_tree, asked);
  ReplyConstraint constraint(grammar, Channel::kReasoning);
  const std::vector<TokenId> reply(whole.begin() + static_cast<ptrdiff_t>(prompt.size()),
                                   whole.end());
  EXPECT_EQ(allowed_tokens(constraint, reply), reply.size());
  EXPECT_TRUE(constraint.finished());
}

TEST(ReplyGrammar, AllowsWhatTheFormatWrites) {
  expect_history_allowed(tokenizer());
  expect_history_allowed(Tokenizer(SLUICE_SOURCE_DIR "/models/nano"));
}

TEST(ReplyGrammar, AllowsWhatTheFormatWritesWithTheWholeVocabulary) {
  const char* const named = std::getenv("SLUICE_K3_DATA");
  const std::filesystem::path folder =
      named != nullptr ? named : SLUICE_SOURCE_DIR "/../shared/data";
  if (!std::filesystem::exists(folder / "tiktoken.model")) {
    GTEST_SKIP() << "the vocabulary of Kimi K3 is not at " << folder
                 << "; set SLUICE_K3_DATA to a folder that holds it";
  }
  expect_history_allowed(Tokenizer(folder));
}

// Any token that is allowed; an end of text more often, so that replies end.
TokenId draw(const TokenMask& mask, std::mt19937_64& random) {
  std::vector<TokenId> ids;
  for (TokenId id{0}; id.value < static_cast<int32_t>(tokenizer().vocab_size()); ++id.value) {
    if (mask.allows(id)) ids.push_back(id);
  }
  EXPECT_FALSE(ids.empty());
  const TokenId close = tokenizer().special().close;
  const bool may_close = std::find(ids.begin(), ids.end(), close) != ids.end();
  return may_close && random() % 4 == 0 ? close : ids[random() % ids.size()];
}

TEST(ReplyGrammar, RandomRepliesParse) {
  std::mt19937_64 random(7);
  size_t calls = 0;
  for (const char* const choice :
       {"\"auto\"", "\"required\"", R"({"type":"function","function":{"name":"get"}})"}) {
    ReplyGrammar grammar(tokenizer(), tree(),
                         request_with_tools(fmt::format("\"tool_choice\":{}", choice)));
    for (int round = 0; round < 300; ++round) {
      ReplyConstraint constraint(grammar, Channel::kReasoning);
      std::vector<ReplyToken> tokens;
      while (!constraint.finished() && tokens.size() < 20'000) {
        const TokenId id = draw(constraint.mask(), random);
        constraint.push(id);
        tokens.push_back({id, std::string(tokenizer().bytes(id))});
      }
      ASSERT_TRUE(constraint.finished()) << "round " << round << " of " << choice;
      const ParsedReply parsed = parse_reply(tokenizer().special(), Channel::kReasoning, tokens);
      EXPECT_EQ(fault_of(parsed), "");
      EXPECT_TRUE(!parsed.reply.calls.empty() || std::string_view(choice) == "\"auto\"");
      for (const ReplyCall& one : parsed.reply.calls) {
        EXPECT_THAT(one.name, AnyOf("get", "get_time", "put", "now"));
        const JsonParse arguments = parse_json(one.arguments);
        ASSERT_TRUE(arguments.value) << one.arguments;
        EXPECT_TRUE(one.name != "get" || arguments.value->find("city") != nullptr);
        EXPECT_TRUE(one.name != "put" || arguments.value->items.size() == 1);
      }
      calls += parsed.reply.calls.size();
    }
  }
  EXPECT_GT(calls, 600u);
}

}  // namespace
}  // namespace sluice::text
