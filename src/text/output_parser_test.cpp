// Without these tests markup could show up in an answer, a call be lost or come out as broken JSON,
// and a reply depend on how its text was cut into tokens.
#include "text/output_parser.h"

#include "text/json_value.h"
#include "text/reply_test_support.h"

#include <array>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using Kind = ReplyEvent::Kind;

constexpr TokenId kWord{1};

constexpr std::array<std::pair<std::string_view, TokenId>, 6> kMarkers = {
    {{"<|open|>", kReplyIds.open},
     {"<|close|>", kReplyIds.close},
     {"<|sep|>", kReplyIds.sep},
     {"<|end_of_msg|>", kReplyIds.end_of_msg},
     {"[EOS]", kReplyIds.eos},
     {"[EOT]", kReplyIds.eot}}};

// Before a marker: it is spelled with ordinary tokens.
constexpr char kSpelled = '\x01';

/// The tokens of a reply in which markers stand as their spellings.
std::vector<ReplyToken> tokens_of(std::string_view script) {
  std::vector<ReplyToken> tokens;
  while (!script.empty()) {
    ReplyToken token{kWord, std::string(script.substr(0, 1))};
    if (script.front() == kSpelled) {
      script.remove_prefix(1);
      token.bytes = script.substr(0, 1);
    } else {
      for (const auto& [spelling, id] : kMarkers) {
        if (script.starts_with(spelling)) token = {id, std::string(spelling)};
      }
    }
    script.remove_prefix(token.bytes.size());
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::string open(std::string_view tag) { return fmt::format("<|open|>{}<|sep|>", tag); }
std::string close(std::string_view tag) { return fmt::format("<|close|>{}<|sep|>", tag); }

std::string call(std::string_view name, std::string_view arguments = "") {
  return fmt::format("{}{}{}", open(fmt::format("call tool=\"{}\" index=\"1\"", name)), arguments,
                     close("call"));
}

/// An argument that is not closed.
std::string begin_argument(std::string_view key, std::string_view type, std::string_view value) {
  return open(fmt::format("argument key=\"{}\" type=\"{}\"", key, type)) + std::string(value);
}

std::string argument(std::string_view key, std::string_view type, std::string_view value) {
  return begin_argument(key, type, value) + close("argument");
}

std::string json_block(std::string_view body) {
  return open("json type=\"object\"") + std::string(body) + close("json");
}

const std::string kAnswer = close("think") + open("response");  // Ends the reasoning.
const std::string kEnd = close("message") + "<|end_of_msg|>";
const std::string kAnswerEnd = close("response") + kEnd;
const std::string kTools = close("response") + open("tools");  // Ends the answer.
const std::string kToolsEnd = close("tools") + kEnd;

struct Case {
  std::string name;
  Channel start;
  std::string script;
  std::string expected;  // As one_line() writes a reply.
};

constexpr Channel kThink = Channel::kReasoning, kResponse = Channel::kContent,
                  kOutside = Channel::kMarkup;

std::vector<Case> ordinary_cases() {
  return {
      {"plain", kThink, "Let me add." + kAnswer + "4." + kAnswerEnd, "Let me add.|4."},
      {"no thinking", kResponse, "4." + kAnswerEnd, "|4."},
      {"empty thinking", kThink, kAnswer + "ok" + kAnswerEnd, "|ok"},
      {"from the start of the message", kOutside,
       open("message role=\"assistant\"") + open("think") + "a" + kAnswer + "b" + kAnswerEnd,
       "a|b"},
      {"one call", kThink,
       "use tool" + kAnswer + kTools +
           call("get_weather",
                argument("city", "string", "Paris") + argument("days", "number", "1.50")) +
           kToolsEnd,
       R"(use tool||get_weather {"city":"Paris","days":1.50})"},
      {"an answer and two calls", kThink,
       "t" + kAnswer + "Calling." + kTools + call("a", argument("x", "boolean", "true")) +
           call("b") + kToolsEnd,
       R"(t|Calling.|a {"x":true}|b {})"},
      {"strings are escaped", kResponse,
       "ok" + kTools + call("w", argument("s", "string", "l1\n\"q\"\\ \xC3\xA9\x1F")) + kToolsEnd,
       "|ok|w {\"s\":\"l1\\n\\\"q\\\"\\\\ \xC3\xA9\\u001f\"}"},
      {"other values are verbatim", kResponse,
       kTools +
           call("w", argument("o", "object", R"({"k": [1, 2]})") +
                         argument("a", "array", R"(["x"])") + argument("n", "null", "null")) +
           kToolsEnd,
       R"(||w {"o":{"k": [1, 2]},"a":["x"],"n":null})"},
      {"a json block is verbatim", kResponse,
       kTools + call("w", json_block(R"({"a": 1})")) + kToolsEnd, R"(||w {"a": 1})"},
      {"a json block that is no JSON", kResponse,
       kTools + call("w", json_block(R"({"a": )")) + kToolsEnd, R"(||w {"a": )"},
      {"names and keys are escaped", kResponse,
       kTools + call("ns.f&amp;&quot;g", argument("a&amp;b", "string", "v")) + kToolsEnd,
       R"(||ns.f&"g {"a&b":"v"})"},
      {"the index of a call does not count", kResponse,
       kTools + open(R"(call index="7" tool="a")") + close("call") + open(R"(call tool="b")") +
           close("call") + kToolsEnd,
       "||a {}|b {}"},
      {"between channels there is nothing", kThink,
       "a" + close("think") + "\n" + open("response") + "b" + close("response") + "\n" + kEnd,
       "a|b"},
      {"markers that are spelled are text", kResponse,
       "Use \x01<|close|>response\x01<|sep|> literally" + kAnswerEnd,
       "|Use <|close|>response<|sep|> literally"},
      {"strings that look like JSON", kResponse,
       kTools +
           call("f", argument("a", "string", "007") + argument("b", "string", "true") +
                         argument("c", "string", R"({"a":)") + argument("d", "string", "")) +
           kToolsEnd,
       R"(||f {"a":"007","b":"true","c":"{\"a\":","d":""})"},
      {"characters of several tokens", kThink,
       "\xF0\x9F\x98\x80" + kAnswer + "\xE6\xBC\xA2\xF0\x9F\x98\x80" + kTools +
           call("\xE6\xBC\xA2", argument("\xC3\xA9", "string", "\xF0\x9F\x98\x80")) + kToolsEnd,
       "\xF0\x9F\x98\x80|\xE6\xBC\xA2\xF0\x9F\x98\x80|\xE6\xBC\xA2 "
       "{\"\xC3\xA9\":\"\xF0\x9F\x98\x80\"}"},
  };
}

// Where a model leaves the format.
std::vector<Case> unusual_channel_cases() {
  return {
      {"the answer is not closed", kResponse, "Hello" + close("message"), "|Hello"},
      {"nothing is closed", kThink, "abc" + kAnswer + "hi<|end_of_msg|>", "abc|hi"},
      {"another end of text", kResponse, "hi[EOS]junk", "|hi"},
      {"the end of a turn", kResponse, "hi[EOT]junk", "|hi"},
      {"after the message", kResponse, "hi" + kAnswerEnd + "junk" + open("response") + "more",
       "|hi"},
      {"only markers", kOutside, open("response") + kAnswerEnd, "|"},
      {"tools right after thinking", kThink,
       "go" + close("think") + open("tools") + call("a") + kToolsEnd, "go||a {}"},
      {"tools within thinking", kThink,
       "plan" + open("tools") + call("f", argument("x", "number", "1")) + kToolsEnd,
       R"(plan||f {"x":1})"},
      {"tools within the answer", kResponse, "see" + open("tools") + call("f") + kToolsEnd,
       "|see|f {}"},
      {"a call without tools", kThink, "plan" + call("f") + "junk" + kEnd, "plan||f {}"},
      {"an answer within thinking", kThink, "hm" + open("response") + "yes" + kAnswerEnd, "hm|yes"},
      {"thinking within thinking", kThink, "a" + open("think") + "b" + kAnswer + "c", "ab|c"},
      {"an answer within the answer", kResponse, "a" + open("response") + "b", "|ab"},
      {"thinking again", kThink,
       "a" + kAnswer + "b" + close("response") + open("think") + "c" + kAnswer + "d", "ac|bd"},
      {"thinking that was the answer", kThink, "Answer." + kAnswerEnd, "|Answer."},
      {"only the last thinking was the answer", kThink,
       "a" + close("think") + open("think") + "b" + kAnswerEnd, "a|b"},
      {"an unknown tag", kResponse, "a" + open("note x=\"1\"") + "b" + close("note") + "c", "|abc"},
      {"tags out of place", kResponse,
       "a" + argument("x", "number", "1") + "<|sep|>" + close("call") + json_block("2"), "|a12"},
      {"a tag that is begun anew", kThink, "a<|close|>thi<|close|>think<|sep|>b", "a|"},
      {"half a character", kThink,
       "a\xE6\xBC" + kAnswer + "b\xF0\x9F" + kTools +
           call("f\xE6", argument("k", "string", "\xE6")),
       "a\xEF\xBF\xBD|b\xEF\xBF\xBD|f\xEF\xBF\xBD {\"k\":\"\xEF\xBF\xBD\"}"},
  };
}

std::vector<Case> unusual_call_cases() {
  return {
      {"a call without a name", kResponse,
       kTools + open("call index=\"1\"") + argument("x", "string", "lost") + close("call") +
           call("b") + kToolsEnd,
       "||b {}"},
      {"a call with an empty name", kResponse, kTools + call("") + call("b"), "||b {}"},
      {"a call within a call", kResponse,
       kTools + open("call tool=\"a\"") + begin_argument("x", "number", "1") + call("b"),
       R"(||a {"x":1}|b {})"},
      {"an answer within a call", kResponse,
       kTools + open("call tool=\"a\"") + begin_argument("x", "string", "1") + open("response") +
           "late",
       R"(|late|a {"x":"1"})"},
      {"text between arguments", kResponse,
       kTools + call("f", " " + argument("x", "number", "1") + " \n"), R"(||f {"x":1})"},
      {"an argument within an argument", kResponse,
       kTools + call("f", begin_argument("x", "string", "1") + begin_argument("y", "number", "2")),
       R"(||f {"x":"1","y":2})"},
      {"an argument without a key", kResponse,
       kTools + call("f", begin_argument("x", "string", "1") + open("argument type=\"string\"") +
                              "lost" + close("argument") + argument("y", "number", "2")),
       R"(||f {"x":"1","y":2})"},
      {"an argument without a type", kResponse,
       kTools + call("f", open("argument key=\"x\"") + "1" + close("argument") +
                              open("argument key=\"y\"") + "one" + close("argument")),
       R"(||f {"x":1,"y":"one"})"},
      {"a key twice", kResponse,
       kTools + call("f", argument("x", "string", "1") + argument("x", "number", "2") +
                              argument("y", "number", "3")),
       R"(||f {"x":"1","y":3})"},
      {"a json block after an argument", kResponse,
       kTools + call("f", argument("x", "number", "1") + json_block("{}")), R"(||f {"x":1})"},
      {"an argument after a json block", kResponse,
       kTools + call("f", json_block("{}") + argument("x", "number", "1")), "||f {}"},
      {"two json blocks", kResponse, kTools + call("f", json_block("[]") + json_block("{}")),
       "||f []"},
      {"an empty json block", kResponse, kTools + call("f", json_block("")), "||f {}"},
      {"values that are not JSON", kResponse,
       kTools + call("f", argument("a", "number", "12 apples") +
                              argument("b", "object", R"({"a": 1)") + argument("c", "null", "")),
       R"(||f {"a":"12 apples","b":"{\"a\": 1","c":""})"},
  };
}

// Where the last token was not the model's choice.
std::vector<Case> cut_cases() {
  const std::string in_call = kTools + open("call tool=\"w\"");
  return {
      {"nothing came", kThink, "", "|"},
      {"in thinking", kThink, "thinking about it", "thinking about it|"},
      {"in a tag", kResponse, "answer<|close|>resp", "|answer"},
      {"after a marker", kResponse, "answer<|close|>", "|answer"},
      {"in the tag of a call", kResponse, kTools + "<|open|>call tool=\"w\"", "|"},
      {"in a call", kResponse, in_call, "||w {}"},
      {"in a string", kResponse, in_call + begin_argument("s", "string", "par"),
       R"(||w {"s":"par"})"},
      {"in a character", kResponse, in_call + begin_argument("s", "string", "p\xF0\x9F\x98"),
       "||w {\"s\":\"p\xEF\xBF\xBD\"}"},
      {"in a number", kResponse, in_call + begin_argument("n", "number", "12"), "||w {}"},
      {"in a second argument", kResponse,
       in_call + argument("a", "number", "1") + begin_argument("n", "object", "{"),
       R"(||w {"a":1})"},
      {"in a json block", kResponse, in_call + open("json type=\"object\"") + R"({"a")",
       R"(||w {"a")"},
      {"by the end of the message", kResponse,
       in_call + begin_argument("n", "number", "12") + "<|end_of_msg|>", "||w {}"},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto& cases :
       {ordinary_cases(), unusual_channel_cases(), unusual_call_cases(), cut_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

TEST(OutputParser, TakesRepliesApartHoweverTheirTextIsCut) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    const std::vector<ReplyToken> whole = merged(kReplyIds, tokens_of(c.script));
    EXPECT_EQ(one_line(parse_reply(kReplyIds, c.start, whole)), c.expected);
    EXPECT_EQ(one_line(parse_reply(kReplyIds, c.start, in_bytes(kReplyIds, whole))), c.expected);
    for (size_t i = 0; i < whole.size(); ++i) {
      if (is_marker(kReplyIds, whole[i].id)) continue;
      for (size_t at = 1; at < whole[i].bytes.size(); ++at) {
        std::vector<ReplyToken> cut = whole;
        cut[i].bytes.resize(at);
        cut.insert(cut.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                   {kWord, whole[i].bytes.substr(at)});
        EXPECT_EQ(one_line(parse_reply(kReplyIds, c.start, cut)), c.expected);
      }
    }
  }
}

TEST(OutputParser, TellsTheChannelOfEachToken) {
  for (const Case& c : ordinary_cases()) {
    SCOPED_TRACE(c.name);
    const ParsedReply parsed = parse_reply(kReplyIds, c.start, tokens_of(c.script));
    EXPECT_EQ(parsed.reasoning_bytes, parsed.reply.reasoning);
    EXPECT_EQ(parsed.content_bytes, parsed.reply.content);
  }
}

TEST(OutputParser, TextComesWithItsToken) {
  std::vector<size_t> events_after;
  size_t events = 0;
  OutputParser parser(kReplyIds, kThink, [&](const ReplyEvent&) { ++events; });
  for (const ReplyToken& token : tokens_of("a\xC3\xA9" + kAnswer + "b")) {
    parser.push(token.id, token.bytes);
    if (!is_marker(kReplyIds, token.id)) events_after.push_back(events);
  }
  // a, two bytes of one character, the letters of two tags, b.
  EXPECT_EQ(events_after.front(), 1U);
  EXPECT_EQ(events_after[1], 1U);
  EXPECT_EQ(events_after[2], 2U);
  EXPECT_EQ(events_after.back(), 3U);
}

TEST(OutputParser, ALongArgumentComesInPieces) {
  constexpr size_t kWords = 500;
  std::vector<ReplyEvent> events;
  OutputParser parser(kReplyIds, kResponse,
                      [&](const ReplyEvent& event) { events.push_back(event); });
  for (const ReplyToken& token : tokens_of(kTools + open("call tool=\"f\""))) {
    parser.push(token.id, token.bytes);
  }
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, Kind::kCallBegun);
  EXPECT_EQ(events[0].text, "f");
  for (const ReplyToken& token : tokens_of(open(R"(argument key="k" type="string")"))) {
    parser.push(token.id, token.bytes);
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].text, R"({"k":")");
  for (size_t i = 0; i < kWords; ++i) parser.push(kWord, "word ");
  EXPECT_EQ(events.size(), 2 + kWords);
}

TEST(OutputParser, TakesBackReasoningThatWasTheAnswer) {
  const ParsedReply parsed = parse_reply(kReplyIds, kThink, tokens_of("yes" + kAnswerEnd));
  ASSERT_EQ(parsed.events.size(), 4U);
  EXPECT_EQ(parsed.events[0].kind, Kind::kReasoning);
  EXPECT_EQ(parsed.events[3].kind, Kind::kReasoningWasContent);
  EXPECT_EQ(parsed.events[3].text, "yes");
}

/// A random reply that now and then does what the format asks for. Without json blocks, all
/// arguments must be JSON.
std::vector<ReplyToken> random_reply(std::mt19937_64& random, bool with_json) {
  const std::vector<std::string> tags = {"think",
                                         "response",
                                         "tools",
                                         "call",
                                         "argument",
                                         R"(call tool="f" index="1")",
                                         R"(call tool="g&quot;\ h")",
                                         R"(argument key="s" type="string")",
                                         R"(argument key="\t&quot;" type="string")",
                                         R"(argument key="n" type="number")",
                                         R"(argument key="o" type="object")",
                                         with_json ? R"(json type="object")" : "none"};
  const std::vector<std::string> texts = {"a",
                                          "\"",
                                          "\\",
                                          "\n",
                                          "1",
                                          ".5",
                                          "{",
                                          "}",
                                          "[1,2]",
                                          "true",
                                          "\xE6",
                                          "\xBC\xA2",
                                          "\xF0\x9F",
                                          "\x80",
                                          "\xFF",
                                          " key=\"k\"",
                                          "call tool=\"x\"",
                                          "think",
                                          "response",
                                          "<|open|>"};
  const auto any = [&](const auto& list) { return list[random() % list.size()]; };
  std::vector<ReplyToken> tokens;
  const auto add = [&](const std::string& script) {
    for (ReplyToken& token : tokens_of(script)) tokens.push_back(std::move(token));
  };
  const size_t length = random() % 400;  // A tag has some thirty tokens, since each letter is one.
  while (tokens.size() < length) {
    switch (random() % 8) {
      case 0:
        add(std::string(kMarkers[random() % 3].first));
        break;
      case 1:
        if (random() % 16 == 0) add(std::string(any(kMarkers).first));
        break;
      case 2:
      case 3:
        add(open(any(tags)));
        break;
      case 4:
        add(close(any(tags)));
        break;
      default:
        tokens.push_back({kWord, any(texts)});
    }
  }
  return tokens;
}

TEST(OutputParser, NothingThatAModelWritesBreaksIt) {
  size_t arguments = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    const bool with_json = seed % 4 == 0;
    const auto start = static_cast<Channel>(random() % 3);
    const std::vector<ReplyToken> tokens = random_reply(random, with_json);
    const ParsedReply parsed = parse_reply(kReplyIds, start, tokens);
    const std::string expected = one_line(parsed);
    EXPECT_EQ(fault_of(parsed), "");
    EXPECT_EQ(one_line(parse_reply(kReplyIds, start, merged(kReplyIds, tokens))), expected);
    EXPECT_EQ(one_line(parse_reply(kReplyIds, start, in_bytes(kReplyIds, tokens))), expected);
    for (const ReplyCall& call : parsed.reply.calls) {
      EXPECT_TRUE(with_json || parse_json(call.arguments).value) << call.arguments;
      arguments += call.arguments.size() > 2 ? 1 : 0;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(arguments, 1'000U) << "the replies are too wild to say anything about calls";
}

}  // namespace
}  // namespace sluice::text
