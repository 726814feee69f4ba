// Without these tests part of a stop string could be printed, or text that only resembles one be
// lost.
#include "engine/stop_matcher.h"

#include "base/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

struct Outcome {
  std::string text;
  bool stopped = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

/// Feeds the pieces; nothing is flushed after a stop, as nothing may come out then.
Outcome run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  Outcome outcome;
  for (const std::string& piece : pieces) outcome.text += matcher.push(piece);
  outcome.text += matcher.flush();
  outcome.stopped = matcher.stopped();
  return outcome;
}

struct Case {
  std::vector<std::string> stops;
  std::string stream;
  Outcome expected;
};

const std::vector<Case> kCases = {
    {{}, "anything", {"anything", false}},
    {{"END"}, "some text", {"some text", false}},
    {{"END"}, "some END text", {"some ", true}},
    {{"END"}, "END", {"", true}},
    {{"END"}, "EEND", {"E", true}},
    {{"END"}, "EN", {"EN", false}},
    {{"aab"}, "aaab", {"a", true}},
    {{"abab", "bb"}, "xababy", {"x", true}},
    {{"abac"}, "ababac", {"ab", true}},
    // The first to end wins, though another began earlier.
    {{"abcd", "bc"}, "xabcd", {"xa", true}},
    // Of two that end together the longest wins.
    {{"cd", "bcd"}, "abcde", {"a", true}},
    {{"\n\n"}, "one\ntwo\n\nthree", {"one\ntwo", true}},
    {{"\xe4\xbd\xa0"}, "a\xe4\xbd\xa1\xe4\xbd\xa0", {"a\xe4\xbd\xa1", true}},
};

TEST(StopMatcher, EverySplitGivesTheSameText) {
  for (const Case& c : kCases) {
    for (size_t i = 0; i <= c.stream.size(); ++i) {
      for (size_t j = i; j <= c.stream.size(); ++j) {
        const Outcome outcome =
            run(c.stops, {c.stream.substr(0, i), c.stream.substr(i, j - i), c.stream.substr(j)});
        EXPECT_EQ(outcome, c.expected) << '"' << c.stream << "\" cut at " << i << " and " << j;
      }
    }
  }
}

TEST(StopMatcher, HoldsBackNoMoreThanItMust) {
  StopMatcher matcher({"abc"});
  EXPECT_EQ(matcher.push("xa"), "x");
  EXPECT_EQ(matcher.push("b"), "");
  EXPECT_EQ(matcher.push("a"), "ab");
  EXPECT_EQ(matcher.push("d"), "ad");
}

TEST(StopMatcher, StaysSilentAfterAStop) {
  StopMatcher matcher({"."});
  EXPECT_EQ(matcher.push("a.b"), "a");
  EXPECT_EQ(matcher.push("c"), "");
  EXPECT_EQ(matcher.flush(), "");
}

TEST(StopMatcher, RefusesAnEmptyString) { EXPECT_THROW(StopMatcher({"a", ""}), Error); }

}  // namespace
}  // namespace sluice::engine
