// Without these tests half a character or half a stop string could reach the screen.
#include "cli/answer_stream.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

constexpr TokenId kOpen{100}, kClose{101}, kSeparator{102}, kWord{1};

struct Shown {
  std::string answer, reasoning;
  AnswerStream::Show show() {
    return [this](Channel channel, std::string_view text) {
      (channel == Channel::kAnswer ? answer : reasoning) += text;
    };
  }
};

TEST(AnswerStream, ShowsWholeCharactersOnly) {
  Shown shown;
  AnswerStream stream({}, shown.show());
  EXPECT_TRUE(stream.push(kWord, "a\xe4"));
  EXPECT_EQ(shown.answer, "a");
  EXPECT_TRUE(stream.push(kWord, "\xbd"));
  EXPECT_EQ(shown.answer, "a");
  EXPECT_TRUE(stream.push(kWord, "\xa0"));
  EXPECT_EQ(shown.answer, "a\xe4\xbd\xa0");
  EXPECT_TRUE(stream.push(kWord, "\xe4\xbd"));
  stream.finish();
  EXPECT_EQ(shown.answer, "a\xe4\xbd\xa0\xef\xbf\xbd");
  EXPECT_EQ(stream.text(Channel::kAnswer), shown.answer);
}

TEST(AnswerStream, EndsBeforeAStopString) {
  Shown shown;
  AnswerStream stream({"END"}, shown.show());
  EXPECT_TRUE(stream.push(kWord, "one E"));
  EXPECT_EQ(shown.answer, "one ");
  EXPECT_FALSE(stream.push(kWord, "ND two"));
  stream.finish();
  EXPECT_EQ(shown.answer, "one ");
}

TEST(AnswerStream, WhatWasHeldBackComesAtTheEnd) {
  Shown shown;
  AnswerStream stream({"END"}, shown.show());
  EXPECT_TRUE(stream.push(kWord, "one EN"));
  stream.finish();
  EXPECT_EQ(shown.answer, "one EN");
}

TEST(AnswerStream, ReasoningDoesNotStopAnAnswer) {
  Shown shown;
  AnswerStream stream({"END"}, shown.show());
  stream.expect_chat({kOpen, kClose, kSeparator}, Channel::kReasoning);
  EXPECT_TRUE(stream.push(kWord, "the END of"));
  for (const TokenId marker : {kClose, kOpen}) {
    EXPECT_TRUE(stream.push(marker, "<marker>"));
    EXPECT_TRUE(stream.push(kWord, marker == kClose ? "think" : "response"));
    EXPECT_TRUE(stream.push(kSeparator, "<marker>"));
  }
  EXPECT_FALSE(stream.push(kWord, "answer END."));
  stream.finish();
  EXPECT_EQ(shown.reasoning, "the END of");
  EXPECT_EQ(shown.answer, "answer ");
}

TEST(AnswerStream, AHalfCharacterEndsWithItsChannel) {
  Shown shown;
  AnswerStream stream({}, shown.show());
  stream.expect_chat({kOpen, kClose, kSeparator}, Channel::kReasoning);
  EXPECT_TRUE(stream.push(kWord, "x\xe4"));
  EXPECT_TRUE(stream.push(kClose, "<marker>"));
  EXPECT_EQ(shown.reasoning, "x\xef\xbf\xbd");
}

}  // namespace
}  // namespace sluice::cli
