// Without these tests control markers could show up in answers, or reasoning be taken for the
// answer.
#include "cli/reply.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

constexpr TokenId kOpen{100}, kClose{101}, kSeparator{102}, kWord{1};
const ReplyMarkers kMarkers = {kOpen, kClose, kSeparator};

struct Token {
  TokenId id;
  std::string bytes;
};

/// The reply as "[r]...[/r]" and "[a]...[/a]".
std::string split(Channel start, const std::vector<Token>& tokens) {
  std::string out;
  bool inside = false;
  ReplySplitter splitter(kMarkers, start, [&](Channel channel, std::string_view bytes) {
    const std::string name = channel == Channel::kReasoning ? "r" : "a";
    if (bytes.empty()) {
      out += "[/" + name + "]";
      inside = false;
      return;
    }
    if (!std::exchange(inside, true)) out += "[" + name + "]";
    out += bytes;
  });
  for (const Token& token : tokens) splitter.push(token.id, token.bytes);
  return out;
}

std::vector<Token> header(TokenId kind, const std::string& tag) {
  return {{kind, "<marker>"}, {kWord, tag}, {kSeparator, "<marker>"}};
}

std::vector<Token> join(std::initializer_list<std::vector<Token>> parts) {
  std::vector<Token> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

TEST(ReplySplitter, SeparatesReasoningFromTheAnswer) {
  const auto tokens = join({{{kWord, "hm"}, {kWord, "m"}},
                            header(kClose, "think"),
                            header(kOpen, "response"),
                            {{kWord, "Hi"}, {kWord, "!"}},
                            header(kClose, "response"),
                            header(kClose, "message")});
  EXPECT_EQ(split(Channel::kReasoning, tokens), "[r]hmm[/r][a]Hi![/a]");
}

TEST(ReplySplitter, StartsInTheAnswerWithoutThinking) {
  EXPECT_EQ(split(Channel::kAnswer, {{kWord, "Hi"}}), "[a]Hi");
}

TEST(ReplySplitter, ATagMayCostSeveralTokens) {
  const std::vector<Token> tokens = {
      {kOpen, "x"}, {kWord, "resp"}, {kWord, "onse"}, {kSeparator, "x"}, {kWord, "text"}};
  EXPECT_EQ(split(Channel::kReasoning, tokens), "[/r][a]text");
}

TEST(ReplySplitter, ToolsAndWhatStandsBetweenChannelsAreNotShown) {
  const auto tokens = join({header(kClose, "response"),
                            {{kWord, "noise"}},
                            header(kOpen, "tools"),
                            {{kWord, "call"}},
                            header(kClose, "tools")});
  EXPECT_EQ(split(Channel::kAnswer, tokens), "[/a]");
}

TEST(ReplySplitter, MarkersSpelledInTextAreText) {
  EXPECT_EQ(split(Channel::kAnswer, {{kWord, "<|open|>think<|sep|>"}}), "[a]<|open|>think<|sep|>");
}

}  // namespace
}  // namespace sluice::cli
