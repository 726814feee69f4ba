// Without these tests half a character or half a stop string could reach the screen.
#include "cli/answer_stream.h"

#include "base/test_refusal.h"
#include "text/reply_test_support.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

constexpr TokenId kWord{1};

struct Shown {
  std::string answer, reasoning;
  AnswerStream::Show show() {
    return [this](Channel channel, std::string_view text) {
      (channel == Channel::kContent ? answer : reasoning) += text;
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
  EXPECT_EQ(stream.text(Channel::kContent), shown.answer);
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

TEST(AnswerStream, AStopStringMustBeText) {
  EXPECT_THAT(refusal([] { const AnswerStream stream({"\x82"}, {}); }),
              testing::HasSubstr("UTF-8"));
}

/// The tag that `marker` begins, and then text.
void push(AnswerStream& stream, TokenId marker, std::string_view tag, std::string_view text = {}) {
  (void)stream.push(marker, "<marker>");
  (void)stream.push(kWord, tag);
  (void)stream.push(text::kReplyIds.sep, "<marker>");
  if (!text.empty()) (void)stream.push(kWord, text);
}

TEST(AnswerStream, ReasoningDoesNotStopAnAnswer) {
  Shown shown;
  AnswerStream stream({"END"}, shown.show());
  stream.expect_chat(text::kReplyIds, Channel::kReasoning);
  EXPECT_TRUE(stream.push(kWord, "the END of EN"));
  push(stream, text::kReplyIds.close, "think");
  push(stream, text::kReplyIds.open, "response", "D answer EN");
  EXPECT_FALSE(stream.push(kWord, "D."));
  stream.finish();
  EXPECT_EQ(shown.reasoning, "the END of EN");
  EXPECT_EQ(shown.answer, "D answer ");
}

TEST(AnswerStream, AHalfCharacterEndsWithItsChannel) {
  Shown shown;
  AnswerStream stream({}, shown.show());
  stream.expect_chat(text::kReplyIds, Channel::kReasoning);
  EXPECT_TRUE(stream.push(kWord, "x\xe4"));
  EXPECT_TRUE(stream.push(text::kReplyIds.close, "<marker>"));
  EXPECT_EQ(shown.reasoning, "x\xef\xbf\xbd");
}

TEST(AnswerStream, CallsAreNotShown) {
  Shown shown;
  AnswerStream stream({}, shown.show());
  stream.expect_chat(text::kReplyIds, Channel::kContent);
  push(stream, text::kReplyIds.open, "tools");
  push(stream, text::kReplyIds.open, "call tool=\"f\"");
  push(stream, text::kReplyIds.open, "argument key=\"k\" type=\"string\"", "value");
  stream.finish();
  EXPECT_EQ(shown.answer + shown.reasoning, "");
}

// Who reads standard output must get it although it was taken for reasoning.
TEST(AnswerStream, AnAnswerWithoutReasoningIsTheAnswer) {
  Shown shown;
  AnswerStream stream({"END"}, shown.show());
  stream.expect_chat(text::kReplyIds, Channel::kReasoning);
  EXPECT_TRUE(stream.push(kWord, "yes END no"));
  push(stream, text::kReplyIds.close, "response");
  stream.finish();
  EXPECT_EQ(shown.answer, "yes ");
  EXPECT_EQ(stream.text(Channel::kContent), "yes ");
  EXPECT_EQ(stream.text(Channel::kReasoning), "");
}

}  // namespace
}  // namespace sluice::cli
