// Without this, nobody would notice that the tokens differ from those of the released tokenizer.
#include "text/chat.h"
#include "text/json_value.h"
#include "text/reply_test_support.h"
#include "text/test_support.h"
#include "text/tokenizer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace sluice::text {
namespace {

std::filesystem::path data_folder() {
  const char* folder = std::getenv("SLUICE_K3_DATA");
  return folder != nullptr ? folder : SLUICE_SOURCE_DIR "/../shared/data";
}

JsonValue read_json(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  JsonParse parsed = parse_json(text);
  EXPECT_TRUE(parsed.value) << path << ": " << parsed.error;
  return parsed.value.value_or(JsonValue{});
}

const JsonValue& get(const JsonValue& object, std::string_view key) {
  static const JsonValue missing;
  const JsonValue* value = object.find(key);
  EXPECT_NE(value, nullptr) << "no " << key;
  return value == nullptr ? missing : *value;
}

size_t number(const JsonValue& value) { return std::stoull(value.text); }

std::vector<int32_t> ids_of(const JsonValue& array) {
  std::vector<int32_t> ids;
  for (const JsonValue& item : array.items) ids.push_back(std::stoi(item.text));
  return ids;
}

// FNV-1a over little-endian 32-bit words.
class Fnv {
 public:
  void add(uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash_ = (hash_ ^ (word >> shift & 0xFF)) * 0x100000001B3;
    }
  }
  void add(std::span<const TokenId> ids) {
    for (const TokenId id : ids) add(static_cast<uint32_t>(id.value));
  }
  [[nodiscard]] uint64_t get() const { return hash_; }

 private:
  uint64_t hash_ = 0xCBF29CE484222325;
};

std::string times(std::string_view text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

class K3Vectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder() / "tiktoken.model")) {
      GTEST_SKIP() << "the vocabulary of Kimi K3 is not at " << data_folder()
                   << "; set SLUICE_K3_DATA to a folder that holds it and the vectors";
    }
  }

  static const Tokenizer& tokenizer() {
    static const Tokenizer tokenizer(data_folder());
    return tokenizer;
  }

  static std::vector<int32_t> encode(std::string_view text, Specials specials = Specials::kOff) {
    return values(tokenizer().encode(text, specials));
  }

  static std::vector<int32_t> encode(std::string_view text, const ChunkLimits& limits) {
    return values(Tokenizer(data_folder(), limits).encode(text));
  }
};

TEST_F(K3Vectors, SpecialsStandWhereTheReleasePutsThem) {
  const JsonValue specials = read_json(data_folder() / "special_tokens.json");
  EXPECT_EQ(tokenizer().vocab_size(), number(get(specials, "vocab_size")));
  EXPECT_EQ(tokenizer().special().bos.value, std::stoi(get(specials, "bos").text));
  EXPECT_EQ(tokenizer().special().pad.value, std::stoi(get(specials, "pad").text));
  EXPECT_EQ(tokenizer().special().unk.value, std::stoi(get(specials, "unk").text));
  // By their default names too, in a folder without tokenizer_config.json.
  const TempFolder bare;
  std::filesystem::copy_file(data_folder() / "tiktoken.model", bare.path() / "tiktoken.model");
  const Tokenizer unnamed(bare.path());
  for (const JsonValue& named : get(specials, "named").items) {
    const TokenId id{std::stoi(get(named, "id").text)};
    EXPECT_EQ(tokenizer().bytes(id), get(named, "text").text);
    EXPECT_EQ(unnamed.bytes(id), get(named, "text").text);
  }
}

TEST_F(K3Vectors, PublishedStringsHaveTheirIds) {
  const JsonValue file = read_json(data_folder() / "tokenizer_vectors.json");
  EXPECT_EQ(get(file, "vectors").items.size(), 77U);
  for (const JsonValue& vector : get(file, "vectors").items) {
    const std::string& text = get(vector, "text").text;
    EXPECT_EQ(encode(text), ids_of(get(vector, "ids_ordinary"))) << text;
    EXPECT_EQ(encode(text, Specials::kOn), ids_of(get(vector, "ids_special_enabled"))) << text;
  }
}

TEST_F(K3Vectors, FirstPartyCasesHaveTheirIds) {
  const JsonValue file = read_json(data_folder() / "tokenizer_cases.json");
  // The published program tokenises whole strings with specials, as these were made.
  EXPECT_EQ(get(file, "cases").items.size(), 95U);
  for (const JsonValue& c : get(file, "cases").items) {
    const std::string& text = get(c, "text").text;
    EXPECT_EQ(encode(text, Specials::kOn), ids_of(get(c, "ids"))) << get(c, "name").text;
  }
  for (const JsonValue& c : get(file, "chunked").items) {
    EXPECT_EQ(encode(get(c, "text").text, {.run_scalars = number(get(c, "max_run"))}),
              ids_of(get(c, "ids")))
        << get(c, "name").text;
  }
  for (const JsonValue& c : get(file, "outer").items) {
    EXPECT_EQ(encode(get(c, "text").text, {.slice_scalars = number(get(c, "max_chars")),
                                           .run_scalars = number(get(c, "max_run"))}),
              ids_of(get(c, "ids")))
        << get(c, "name").text;
  }
}

TEST_F(K3Vectors, LongInputsHaveTheirHashes) {
  struct Long {
    std::string text;
    size_t count;
    uint64_t hash;
  };
  const Long cases[] = {
      {times("a", 25001), 3126, 0xaeb077ec9c03b22e},
      {times(" ", 25001), 100, 0x73a7566b071d3a87},
      {times("\U0001F642", 25001), 50002, 0x63d6538735388801},
      {times("a ", 200000) + "b", 200002, 0x59c1be934dfcd242},
      {times("QUJDRA", 5000), 19999, 0x349522e5d4f2b123},
      {times(" ", 30000) + "end", 121, 0x92ab61b14bb54561},
      {times("word ", 6000), 6001, 0xecb553eaadb387aa},
      {times("word ", 100000), 100002, 0x3935f7828fab30a1},
      {times("\u6F22", 25001), 50002, 0x27f96af016e7192a},
      {times("1", 25001), 8335, 0x16ebcfa463f47f27},
  };
  for (const Long& c : cases) {
    const std::vector<TokenId> ids = tokenizer().encode(c.text);
    EXPECT_EQ(ids.size(), c.count) << c.text.substr(0, 8);
    Fnv hash;
    hash.add(ids);
    EXPECT_EQ(hash.get(), c.hash) << c.text.substr(0, 8);
  }
}

TEST_F(K3Vectors, LongInputsAreCutWhereTheReleaseCutsThem) {
  EXPECT_EQ(encode(times("7", 25002)).size(), 8335U);
  EXPECT_EQ(encode(times("ab", 12501)).size(), 6251U);
  EXPECT_EQ(encode(times("x", 50003)).size(), 6251U);
  EXPECT_EQ(encode(times("hello ", 66667).substr(0, 400001)).size(), 66668U);
  EXPECT_EQ(encode(times("ababababab ", 40000)).size(), 120002U);
}

TEST_F(K3Vectors, AllTriplesOfFragmentsHaveTheirHashes) {
  const std::string_view fragments[] = {
      "",       "a",        "A",      "Ab",           "ABCd",
      "\u00E9", "e\u0301",  "\u6C49", "\u6F22\u5B57", "\uD55C",
      "\u0939", "\u0627",   "0",      "12",           "1234",
      " ",      "  ",       "\t",     "\n",           "\r\n",
      "\u00A0", "!",        "...",    "\U0001F642",   "\U0001F469\u200D\U0001F4BB",
      "'s",     "<|open|>", "[BOS]"};
  static_assert(std::size(fragments) == 28);
  struct Expected {
    Specials specials;
    size_t count;
    uint64_t hash;
  };
  for (const Expected& expected : {Expected{Specials::kOff, 98026, 0x11e13c50d8d5c7e8},
                                   Expected{Specials::kOn, 84294, 0x14d850fe1958bc7a}}) {
    size_t count = 0;
    Fnv hash;
    for (const std::string_view a : fragments) {
      for (const std::string_view b : fragments) {
        for (const std::string_view c : fragments) {
          const std::vector<TokenId> ids =
              tokenizer().encode(fmt::format("{}{}{}", a, b, c), expected.specials);
          count += ids.size();
          hash.add(static_cast<uint32_t>(ids.size()));
          hash.add(ids);
        }
      }
    }
    EXPECT_EQ(count, expected.count);
    EXPECT_EQ(hash.get(), expected.hash);
  }
}

// A request in the words of the published renderer's keyword arguments.
ChatRequest request_of(const JsonValue& arguments, bool effort_by_default) {
  std::string json = "{\"chat_template_kwargs\":{";
  for (const char* knob : {"thinking", "thinking_effort"}) {
    const JsonValue* value = arguments.find(knob);
    if (value == nullptr) continue;
    if (json.back() != '{') json += ',';
    json += fmt::format("\"{}\":{}", knob, dump_json(*value, JsonStyle::kCompact));
  }
  json += '}';
  for (size_t i = 0; i < arguments.keys.size(); ++i) {
    const std::string& key = arguments.keys[i];
    if (key.starts_with("thinking")) continue;
    json += fmt::format(",\"{}\":{}", key, dump_json(arguments.items[i], JsonStyle::kCompact));
  }
  ChatRequest request = parse_chat_request(json + '}');
  const JsonValue* effort = arguments.find("thinking_effort");
  if (effort == nullptr ? !effort_by_default : effort->kind == JsonValue::Kind::kNull) {
    request.effort = Effort::kNone;
  }
  return request;
}

// Whether segments are those of a golden, which writes them as [text, control] or as objects.
void expect_segments(const std::vector<ChatSegment>& segments, const JsonValue& golden) {
  ASSERT_EQ(segments.size(), golden.items.size());
  for (size_t i = 0; i < segments.size(); ++i) {
    const JsonValue& expected = golden.items[i];
    const bool is_pair = expected.kind == JsonValue::Kind::kArray;
    EXPECT_EQ(segments[i].text, (is_pair ? expected.items[0] : get(expected, "text")).text);
    const bool control =
        is_pair ? expected.items[1].text == "1" : get(expected, "allow_special").boolean;
    EXPECT_EQ(segments[i].control, control);
  }
}

std::string join(const std::vector<ChatSegment>& segments) {
  std::string text;
  for (const ChatSegment& segment : segments) text += segment.text;
  return text;
}

TEST_F(K3Vectors, ChatGoldensHaveTheirSegmentsTextAndIds) {
  const JsonValue file = read_json(data_folder() / "chat_goldens.json");
  EXPECT_EQ(get(file, "cases").items.size(), 29U);
  for (const JsonValue& golden : get(file, "cases").items) {
    SCOPED_TRACE(get(golden, "name").text);
    const ChatRequest request = request_of(get(golden, "request"), true);
    const std::vector<ChatSegment> segments = render_chat(request);
    expect_segments(segments, get(golden, "segments"));
    EXPECT_EQ(join(segments), get(golden, "text").text);
    EXPECT_EQ(values(encode_chat(tokenizer(), request)), ids_of(get(golden, "ids")));
  }
}

TEST_F(K3Vectors, RenderFixturesHaveTheirSegments) {
  constexpr std::string_view kTools =
      R"([{"type":"function","function":{"name":"get_weather","parameters":{"type":"object",)"
      R"("properties":{"city":{"type":"string"}}}}}])";
  struct Fixture {
    std::string_view name;
    std::string json;
    Effort effort = Effort::kNone;
  };
  const Fixture fixtures[] = {
      {"plain_user_thinking", R"({"messages":[{"role":"user","content":"Hi"}]})"},
      {"system_user_thinking", R"({"messages":[{"role":"system","content":"You are helpful"},
        {"role":"user","content":"Hi"}]})"},
      {"plain_user_no_thinking",
       R"({"messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"none"})"},
      {"assistant_prior_turn", R"({"messages":[{"role":"user","content":"Hi"},
        {"role":"assistant","content":"Hello!"},{"role":"user","content":"Bye"}]})"},
      {"with_tools", fmt::format(R"({{"messages":[{{"role":"user","content":"weather in Paris?"}}],
        "tools":{}}})",
                                 kTools)},
      {"assistant_tool_call_then_result",
       fmt::format(R"({{"messages":[{{"role":"user","content":"weather?"}},{{"role":"assistant",
        "tool_calls":[{{"id":"1","function":{{"name":"get_weather","arguments":
        "{{\"city\":\"Paris\"}}"}}}}]}},{{"role":"tool","tool_call_id":"1","content":"sunny"}}],
        "tools":{}}})",
                   kTools)},
      {"thinking_effort_low", R"({"messages":[{"role":"user","content":"Hi"}]})", Effort::kLow},
  };
  const JsonValue file = read_json(data_folder() / "k3_render_fixtures.json");
  EXPECT_EQ(file.keys.size(), std::size(fixtures));
  for (const Fixture& fixture : fixtures) {
    SCOPED_TRACE(fixture.name);
    ChatRequest request = parse_chat_request(fixture.json);
    request.effort = fixture.effort;
    const std::vector<ChatSegment> segments = render_chat(request);
    expect_segments(segments, get(get(file, fixture.name), "segments"));
    EXPECT_EQ(join(segments), get(get(file, fixture.name), "text").text);
  }
}

TEST_F(K3Vectors, CasesFromPublicReportsHaveTheirIds) {
  const std::filesystem::path path = data_folder() / "../cases/public-cases-fixtures.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " does not exist";
  const JsonValue file = read_json(path);
  for (const JsonValue& c : get(file, "plain_text").items) {
    EXPECT_EQ(encode(get(c, "text").text), ids_of(get(c, "ids"))) << get(c, "name").text;
  }
  for (const JsonValue& c : get(file, "rendered").items) {
    SCOPED_TRACE(get(c, "name").text);
    JsonValue arguments = get(c, "options");
    for (const char* key : {"messages", "tools"}) {
      arguments.keys.emplace_back(key);
      arguments.items.push_back(get(c, key));
    }
    const ChatRequest request = request_of(arguments, false);
    EXPECT_EQ(join(render_chat(request)), get(c, "text").text);
    EXPECT_EQ(values(encode_chat(tokenizer(), request)), ids_of(get(c, "ids")));
  }
  for (const JsonValue& c : get(file, "kvv_prompt_tokens").items) {
    const std::string json = dump_json(get(c, "request"), JsonStyle::kCompact);
    EXPECT_EQ(encode_chat(tokenizer(), parse_chat_request(json)).size(),
              number(get(c, "rendered_ids")))
        << get(c, "name").text;
  }
}

// A field of a golden reply; null is written for an empty one.
std::string text_or_empty(const JsonValue& value) {
  return value.kind == JsonValue::Kind::kNull ? "" : value.text;
}

Reply reply_of(const JsonValue& expected) {
  Reply reply{text_or_empty(get(expected, "reasoning_content")),
              text_or_empty(get(expected, "content")),
              {}};
  for (const JsonValue& call : get(expected, "tool_calls").items) {
    EXPECT_EQ(number(get(call, "index")), reply.calls.size());
    reply.calls.push_back({get(call, "name").text, get(call, "arguments").text});
  }
  return reply;
}

TEST_F(K3Vectors, RepliesHaveTheirFields) {
  const JsonValue file = read_json(data_folder() / "stream_parser_goldens.json");
  EXPECT_EQ(get(file, "cases").items.size(), 21U);
  const SpecialIds& ids = tokenizer().special();
  for (const JsonValue& golden : get(file, "cases").items) {
    SCOPED_TRACE(get(golden, "name").text);
    std::vector<ReplyToken> tokens;
    for (const int32_t id : ids_of(get(golden, "ids"))) {
      tokens.push_back({TokenId{id}, std::string(tokenizer().bytes(TokenId{id}))});
    }
    const Channel start =
        get(golden, "prompt_tail_state").text == "think" ? Channel::kReasoning : Channel::kContent;
    const Reply expected = reply_of(get(golden, "expect"));
    for (const auto& cut : {tokens, in_bytes(ids, tokens), merged(ids, tokens)}) {
      EXPECT_EQ(one_line(parse_reply(ids, start, cut)), one_line(expected));
    }
    const ReplyEnd end = get(golden, "truncated").boolean ? ReplyEnd::kCut : ReplyEnd::kByItself;
    EXPECT_EQ(finish_reason(end, expected.calls.size()),
              get(get(golden, "expect"), "finish_reason").text);
  }
}

TEST_F(K3Vectors, SegmentsAreNotMerged) {
  // As they stand in JSON.
  constexpr std::string_view kNames[] = {"_x", ".hidden", "-flag", "/path",
                                         "'s", R"(\"q)",  "(f)",   R"(\nline)"};
  for (const std::string_view name : kNames) {
    const ChatRequest request = parse_chat_request(fmt::format(
        R"({{"messages":[{{"role":"user","name":"{}"}}],"reasoning_effort":"none"}})", name));
    const std::vector<int32_t> ids = values(encode_chat(tokenizer(), request));
    EXPECT_EQ(std::vector<int32_t>(ids.begin() + 5, ids.begin() + 8),
              (std::vector<int32_t>{1, 1530, 878}))
        << name;
    EXPECT_NE(ids, encode(join(render_chat(request)), Specials::kOn)) << name;
    if (name == "_x") {
      EXPECT_EQ(ids[8], 7213);
    }
  }
}

}  // namespace
}  // namespace sluice::text
