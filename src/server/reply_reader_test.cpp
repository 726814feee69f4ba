// Without these tests a stop string could leak into an answer, reasoning could be counted as
// content, or a streamed answer could say other things than a whole one.
#include "server/reply_reader.h"

#include "text/chat_markup.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using text::Channel;
using text::ReplyEnd;

const text::Tokenizer& tokenizer() {
  static const text::Tokenizer nano(SLUICE_SOURCE_DIR "/models/nano");
  return nano;
}

/// A reply in the chat format, whose markers are written as in prompts.
std::vector<TokenId> tokens_of(std::string_view reply) {
  return tokenizer().encode(reply, text::Specials::kOn);
}

struct Read {
  text::Reply reply{};
  ReplyEnd end{};
  std::string stop_string{};
  uint32_t tokens = 0, reasoning = 0, calls = 0;
};

Read read(const ReplyOrder& order, const std::vector<TokenId>& tokens) {
  Read read;
  ReplyReader reader(order, tokenizer(),
                     [&](const text::ReplyEvent& event) { read.reply.add(event); });
  for (const TokenId token : tokens) {
    if (reader.ended()) break;
    reader.push(token);
  }
  reader.finish();
  read.end = reader.end();
  read.stop_string = reader.stop_string();
  read.tokens = reader.tokens();
  read.reasoning = reader.reasoning_tokens();
  read.calls = reader.calls();
  return read;
}

ReplyOrder chat(std::vector<std::string> stops = {}) {
  return {.prompt = {}, .chat = text::ChatRequest{}, .stops = std::move(stops)};
}

constexpr std::string_view kReply =
    "I add.<|close|>think<|sep|><|open|>response<|sep|>The sum is four.<|close|>response<|sep|>"
    "<|close|>message<|sep|><|end_of_msg|>";

TEST(ReplyReader, AWholeReply) {
  const Read got = read(chat(), tokens_of(kReply));
  EXPECT_EQ(got.reply.reasoning, "I add.");
  EXPECT_EQ(got.reply.content, "The sum is four.");
  EXPECT_EQ(got.end, ReplyEnd::kByItself);
  EXPECT_EQ(got.tokens, tokens_of(kReply).size());
  EXPECT_EQ(got.reasoning, tokenizer().encode("I add.").size());
}

TEST(ReplyReader, AReplyWithoutAnEndIsCut) {
  const Read got = read(chat(), tokens_of("I add and"));
  EXPECT_EQ(got.reply.reasoning, "I add and");
  EXPECT_EQ(got.end, ReplyEnd::kCut);
}

TEST(ReplyReader, StopStringsAreLookedForInTheContentAlone) {
  for (const std::string stop : {"sum", "m is", "four", ".", "The sum is four."}) {
    const Read got = read(chat({"add", stop}), tokens_of(kReply));
    const std::string whole = "The sum is four.";
    EXPECT_EQ(got.reply.reasoning, "I add.") << stop;
    EXPECT_EQ(got.reply.content, whole.substr(0, whole.find(stop)));
    EXPECT_EQ(got.end, ReplyEnd::kStopString);
    EXPECT_EQ(got.stop_string, stop);
  }
  const Read never = read(chat({"four!"}), tokens_of(kReply));
  EXPECT_EQ(never.reply.content, "The sum is four.");
  EXPECT_EQ(never.end, ReplyEnd::kByItself);
}

TEST(ReplyReader, AStopStringCanBePartOfTheAnswer) {
  ReplyOrder order = chat({"sum"});
  order.include_stop = true;
  EXPECT_EQ(read(order, tokens_of(kReply)).reply.content, "The sum");
}

TEST(ReplyReader, ContentThatMightBeginAStopStringComesBeforeACall) {
  const Read got = read(
      chat({"now or never"}),
      tokens_of("<|close|>think<|sep|><|open|>response<|sep|>Look now<|close|>response<|sep|>"
                "<|open|>tools<|sep|><|open|>call tool=\"f\" index=\"1\"<|sep|><|close|>call<|sep|>"
                "<|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>"));
  EXPECT_EQ(got.reply.content, "Look now");
  EXPECT_EQ(got.calls, 1u);
}

TEST(ReplyReader, WhatWasMeantAsContentComesTwice) {
  const Read got = read(chat(), tokens_of("Four.<|close|>response<|sep|><|end_of_msg|>"));
  EXPECT_EQ(got.reply.reasoning, "Four.");
  EXPECT_EQ(got.reply.content, "Four.");
}

TEST(ReplyReader, AContinuedTextIsAllContentAndHasNoControlTokens) {
  const Read got = read({.prompt = {}}, tokens_of("One<|open|> two<|end_of_msg|>"));
  EXPECT_EQ(got.reply.content, "One two");
  EXPECT_EQ(got.end, ReplyEnd::kByItself);
}

TEST(ReplyReader, HalfACharacterIsReplacedAtTheEndOnly) {
  std::vector<TokenId> tokens = tokenizer().encode("a\xF0\x9F\x98\x80");
  ASSERT_GT(tokens.size(), 2u) << "the vocabulary has this in one token";
  EXPECT_EQ(read({.prompt = {}}, tokens).reply.content, "a\xF0\x9F\x98\x80");
  tokens.pop_back();
  EXPECT_EQ(read({.prompt = {}}, tokens).reply.content, "a\xEF\xBF\xBD");
}

TEST(ReplyReader, StopIdsAndTheEndThatIsIgnored) {
  ReplyOrder order{.prompt = {}, .stop_ids = {tokenizer().encode(" two").at(0)}};
  Read got = read(order, tokens_of("One two three"));
  EXPECT_EQ(got.reply.content, "One");
  EXPECT_EQ(got.end, ReplyEnd::kByItself);
  order = {.prompt = {}, .ignore_eos = true};
  EXPECT_EQ(read(order, tokens_of("One<|end_of_msg|> two")).reply.content, "One two");
}

}  // namespace
}  // namespace sluice::server
