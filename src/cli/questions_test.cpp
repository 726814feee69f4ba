// Without these tests a model could get points for wrong answers, or a broken file pass for a short
// one.
#include "cli/questions.h"

#include "base/error.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Questions, ALineEach) {
  const std::vector<Question> questions = parse_questions(
      "{\"prompt\": \"2+2?\", \"answers\": [\"4\", \"four\"], \"kind\": \"sums\", \"id\": 7}\r\n"
      " \n"
      "{\"answers\": [\"\xe4\xbd\xa0\"], \"prompt\": \"\\u4f60?\"}",
      "q.jsonl");
  ASSERT_EQ(questions.size(), 2u);
  EXPECT_EQ(questions[0].prompt, "2+2?");
  EXPECT_EQ(questions[0].answers, (std::vector<std::string>{"4", "four"}));
  EXPECT_EQ(questions[0].kind, "sums");
  EXPECT_EQ(questions[1].prompt, "\xe4\xbd\xa0?");
  EXPECT_EQ(questions[1].kind, std::nullopt);
}

TEST(Questions, AMalformedLineIsNamedWithItsField) {
  struct Case {
    const char* line;
    const char* says;
  };
  for (const Case& c :
       {Case{"{", "JSON object"}, Case{"[]", "JSON object"}, Case{"{\"prompt\": \"\xff\"}", "JSON"},
        Case{"{}", "\"prompt\" is missing"}, Case{R"({"prompt": 3})", "\"prompt\" is no text"},
        Case{R"({"prompt": " "})", "\"prompt\" is empty"},
        Case{R"({"prompt": "x"})", "\"answers\" is missing"},
        Case{R"({"prompt": "x", "answers": "y"})", "\"answers\" is no list"},
        Case{R"({"prompt": "x", "answers": []})", "\"answers\" is no list"},
        Case{R"({"prompt": "x", "answers": ["y", 3]})", "\"answers\"[1]"},
        Case{R"({"prompt": "x", "answers": ["y"], "kind": 3})", "\"kind\""}}) {
    try {
      (void)parse_questions(std::string("{\"prompt\":\"a\",\"answers\":[\"b\"]}\n\n") + c.line,
                            "q.jsonl");
      ADD_FAILURE() << c.line;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("q.jsonl: line 3: "), HasSubstr(c.says)));
    }
  }
  EXPECT_THROW((void)parse_questions("\n \n", "q.jsonl"), Error);
}

TEST(Questions, BlanksAroundAnAnswerDoNotCount) {
  struct Case {
    const char* answer;
    bool right;
  };
  const Question question{.prompt = "?", .answers = {" Paris ", "the capital"}};
  for (const Case& c : {Case{"Paris", true}, Case{"\n Paris\t", true}, Case{"the capital", true},
                        Case{"paris", false}, Case{"Paris.", false}, Case{"", false},
                        Case{"the  capital", false}}) {
    EXPECT_EQ(is_right(question, c.answer), c.right) << c.answer;
  }
  EXPECT_EQ(trimmed(" \t\r\n "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Questions, ScoresInTotalAndByKind) {
  const std::vector<Question> questions = {
      {"", {}, "b"}, {"", {}, std::nullopt}, {"", {}, "a"}, {"", {}, "b"}, {"", {}, "c"}};
  const std::vector<QuestionScore> scores = question_scores(questions, "1101");
  ASSERT_EQ(scores.size(), 3u);
  const auto expect = [&](size_t i, const char* kind, uint64_t asked, uint64_t right) {
    EXPECT_EQ(scores[i].kind, kind);
    EXPECT_EQ(scores[i].asked, asked);
    EXPECT_EQ(scores[i].right, right);
  };
  expect(0, "", 4, 3);
  expect(1, "b", 2, 2);
  expect(2, "a", 1, 0);
  EXPECT_DOUBLE_EQ(scores[0].share(), 0.75);
  EXPECT_EQ(question_scores(questions, "")[0].share(), 0.0);
}

}  // namespace
}  // namespace sluice::cli
