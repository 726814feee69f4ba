// Without this, a request could be read as another than was sent, or refused without saying why.
#include "server/fields.h"

#include "base/error.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr uint32_t kVocab = 1000;

ReplyOrder sampling_of(const std::string& json) {
  ReplyOrder order;
  const text::JsonValue body = parse_body(json);
  read_sampling(Fields(body), kVocab, order);
  return order;
}

TEST(Fields, ABodyIsAJsonObject) {
  for (const std::string json : {"", "{", "[]", "1", "null", "{\"a\":NaN}", "{\"a\":\"\xFF\"}"}) {
    EXPECT_THAT([&] { static_cast<void>(parse_body(json)); },
                testing::ThrowsMessage<Error>(testing::StartsWith("request: ")))
        << json;
  }
}

TEST(Fields, NullIsAbsent) {
  const text::JsonValue body = parse_body(R"({"a":null})");
  const Fields fields(body);
  EXPECT_EQ(fields.find("a"), nullptr);
  EXPECT_FALSE(fields.object("a").has_value());
  EXPECT_FALSE(fields.boolean("a").has_value());
  EXPECT_FALSE(fields.number("a", 0, 1).has_value());
  EXPECT_FALSE(fields.integer("b", 0, 1).has_value());
  EXPECT_FALSE(fields.string("b").has_value());
  EXPECT_THAT(fields.strings("a"), IsEmpty());
  EXPECT_THAT(fields.ids("a", kVocab), IsEmpty());
}

TEST(Fields, ReadsEachKind) {
  const text::JsonValue body = parse_body(
      R"({"yes":true,"half":0.5,"five":5.0,"min":-9223372036854775808,"text":"x","one":"a",
          "many":["a","b"],"ids":[0,999],"inner":{"deep":1}})");
  const Fields fields(body);
  EXPECT_EQ(fields.boolean("yes"), true);
  EXPECT_EQ(fields.number("half", 0, 1), 0.5);
  EXPECT_EQ(fields.integer("five", 0, 10), 5);
  EXPECT_EQ(fields.integer("min", INT64_MIN, INT64_MAX), INT64_MIN);
  EXPECT_EQ(fields.string("text"), "x");
  EXPECT_THAT(fields.strings("one"), ElementsAre("a"));
  EXPECT_THAT(fields.strings("many"), ElementsAre("a", "b"));
  EXPECT_THAT(fields.ids("ids", kVocab), ElementsAre(TokenId{0}, TokenId{999}));
  EXPECT_EQ(fields.object("inner")->integer("deep", 0, 1), 1);
}

TEST(Fields, SaysWhichMemberIsWrongAndWhatItMustBe) {
  struct Case {
    std::string value;
    std::function<void(const Fields&)> read;
    std::string message;
  };
  const auto number = [](const Fields& f) { static_cast<void>(f.number("a", -2, 2)); };
  const auto integer = [](const Fields& f) { static_cast<void>(f.integer("a", 1, 128)); };
  const auto count = [](const Fields& f) { static_cast<void>(f.integer("a", 1, INT64_MAX)); };
  const auto ids = [](const Fields& f) { static_cast<void>(f.ids("a", kVocab)); };
  const auto strings = [](const Fields& f) { static_cast<void>(f.strings("a")); };
  const std::string from_to = "o.a: must be a whole number from 1 to 128";
  const Case cases[] = {
      {"1", [](const Fields& f) { static_cast<void>(f.boolean("a")); },
       "o.a: must be true or false"},
      {"1", [](const Fields& f) { static_cast<void>(f.string("a")); }, "o.a: must be a string"},
      {"[]", [](const Fields& f) { static_cast<void>(f.object("a")); },
       "o.a: must be a JSON object"},
      {"\"1\"", number, "o.a: must be a number from -2 to 2"},
      {"true", number, "o.a: must be a number from -2 to 2"},
      {"2.1", number, "o.a: must be a number from -2 to 2"},
      {"1e999", number, "o.a: must be a number from -2 to 2"},
      {"-1e999", number, "o.a: must be a number from -2 to 2"},
      {"0", integer, from_to},
      {"129", integer, from_to},
      {"1.5", integer, from_to},
      {"1e999", integer, from_to},
      {"99999999999999999999", integer, from_to},
      {"\"1\"", integer, from_to},
      {"0", count, "o.a: must be a whole number of at least 1"},
      {"1", strings, "o.a: must be a string or an array of strings"},
      {"[\"x\",1]", strings, "o.a[1]: must be a string"},
      {"1", ids, "o.a: must be an array of token ids"},
      {"[1,1000]", ids, "o.a[1]: must be a token id from 0 to 999"},
      {"[-1]", ids, "o.a[0]: must be a token id from 0 to 999"},
      {"[\"1\"]", ids, "o.a[0]: must be a token id from 0 to 999"},
  };
  for (const Case& c : cases) {
    const text::JsonValue body = parse_body(fmt::format(R"({{"o":{{"a":{}}}}})", c.value));
    const Fields outer(body);
    EXPECT_THAT([&] { c.read(*outer.object("o")); }, testing::ThrowsMessage<Error>(c.message))
        << c.value;
  }
}

TEST(Sampling, HasTheDefaultsOfTheInterface) {
  const ReplyOrder order = sampling_of("{}");
  EXPECT_EQ(order.sampling.temperature, 1);
  EXPECT_EQ(order.sampling.top_p, 1);
  EXPECT_EQ(order.sampling.top_k, 0);
  EXPECT_EQ(order.sampling.min_p, 0);
  EXPECT_EQ(order.sampling.repetition_penalty, 1);
  EXPECT_EQ(order.choices, 1);
  EXPECT_THAT(order.stops, IsEmpty());
  EXPECT_FALSE(order.max_tokens.has_value());
  EXPECT_NE(order.sampling.seed, sampling_of("{}").sampling.seed);
}

TEST(Sampling, ReadsEveryField) {
  const ReplyOrder order = sampling_of(
      R"({"temperature":0,"top_p":0.5,"top_k":40,"min_p":0.1,"presence_penalty":-2,
          "frequency_penalty":2,"repetition_penalty":1.1,"seed":-1,"n":128,"best_of":128,
          "min_tokens":3,"ignore_eos":true,"stop":["a","b","c","d","e"],"stop_token_ids":[7],
          "include_stop_str_in_output":true,"logit_bias":{"5":-100,"7":1.5,"9":null},
          "skip_special_tokens":true,"use_beam_search":false,"bad_words":[],"grammar":"",
          "user":"u","metadata":{"a":1},"store":true,"surprise":[1]})");
  EXPECT_EQ(order.sampling.temperature, 0);
  EXPECT_EQ(order.sampling.top_p, 0.5);
  EXPECT_EQ(order.sampling.top_k, 40);
  EXPECT_EQ(order.sampling.min_p, 0.1);
  EXPECT_EQ(order.sampling.presence_penalty, -2);
  EXPECT_EQ(order.sampling.frequency_penalty, 2);
  EXPECT_EQ(order.sampling.repetition_penalty, 1.1);
  EXPECT_EQ(order.sampling.seed, UINT64_MAX);
  EXPECT_EQ(order.choices, 128);
  EXPECT_EQ(order.min_tokens, 3);
  EXPECT_TRUE(order.ignore_eos);
  EXPECT_THAT(order.stops, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_TRUE(order.include_stop);
  EXPECT_THAT(order.stop_ids, ElementsAre(TokenId{7}));
  EXPECT_THAT(order.logit_bias, ElementsAre(Pair(TokenId{5}, -100), Pair(TokenId{7}, 1.5)));
  EXPECT_EQ(sampling_of(R"({"top_k":-1})").sampling.top_k, 0);
}

TEST(Sampling, RefusesWhatCannotBeOrIsNotDone) {
  struct Case {
    std::string json, field;
  };
  const Case cases[] = {
      {R"({"temperature":-0.1})", "temperature"},
      {R"({"temperature":2.1})", "temperature"},
      {R"({"temperature":"1"})", "temperature"},
      {R"({"top_p":0})", "top_p"},
      {R"({"top_p":1.1})", "top_p"},
      {R"({"top_k":-2})", "top_k"},
      {R"({"min_p":-0.1})", "min_p"},
      {R"({"presence_penalty":2.1})", "presence_penalty"},
      {R"({"frequency_penalty":-2.1})", "frequency_penalty"},
      {R"({"repetition_penalty":0})", "repetition_penalty"},
      {R"({"seed":1.5})", "seed"},
      {R"({"n":0})", "n"},
      {R"({"n":129})", "n"},
      {R"({"n":1,"best_of":2})", "best_of"},
      {R"({"stop":1})", "stop"},
      {R"({"stop":["a",""]})", "stop"},
      {R"({"stop_token_ids":[1000]})", "stop_token_ids[0]"},
      {R"({"logit_bias":[]})", "logit_bias"},
      {R"({"logit_bias":{"x":1}})", "logit_bias"},
      {R"({"logit_bias":{"1000":1}})", "logit_bias"},
      {R"({"logit_bias":{"-1":1}})", "logit_bias"},
      {R"({"logit_bias":{"1":101}})", "logit_bias.1"},
      {R"({"min_tokens":-1})", "min_tokens"},
      {R"({"use_beam_search":true})", "use_beam_search"},
      {R"({"bad_words":["x"]})", "bad_words"},
      {R"({"guided_json":{"type":"object"}})", "guided_json"},
      {R"({"grammar":"root ::= x"})", "grammar"},
      {R"({"truncate_prompt_tokens":5})", "truncate_prompt_tokens"},
      {R"({"skip_special_tokens":false})", "skip_special_tokens"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT([&] { static_cast<void>(sampling_of(c.json)); },
                testing::ThrowsMessage<Error>(testing::StartsWith(c.field + ": ")))
        << c.json;
  }
}

TEST(Sampling, TakesAnyNumberOfTokensFromOneOn) {
  const auto most = [](const std::string& json) {
    ReplyOrder order;
    const text::JsonValue body = parse_body(json);
    read_sampling(Fields(body), kVocab, order);
    read_max_tokens(Fields(body), "max_tokens", order);
    return order.max_tokens;
  };
  EXPECT_EQ(most("{}"), std::nullopt);
  EXPECT_EQ(most(R"({"max_tokens":1})"), 1);
  EXPECT_EQ(most(R"({"max_tokens":131072,"min_tokens":131072})"), 131072);
  EXPECT_EQ(most(R"({"max_tokens":9007199254740993})"), UINT32_MAX);
  EXPECT_THAT([&] { most(R"({"max_tokens":0})"); },
              testing::ThrowsMessage<Error>("max_tokens: must be a whole number of at least 1"));
  EXPECT_THAT([&] { most(R"({"max_tokens":4,"min_tokens":5})"); },
              testing::ThrowsMessage<Error>("min_tokens: is above max_tokens"));
}

}  // namespace
}  // namespace sluice::server
