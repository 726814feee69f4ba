// Without these tests a conversation could lose what it has read, or go on from another one's.
#include "engine/prefix_choice.h"

#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

std::vector<TokenId> ids(std::string_view text) {
  std::vector<TokenId> tokens;
  for (const char c : text) tokens.push_back({c});
  return tokens;
}

struct Held {
  std::string_view tokens;
  std::vector<HeldPoint> points{};
  bool busy = false;
  uint64_t last_used = 0;
};

std::optional<PrefixChoice> choose(const std::vector<Held>& held, std::string_view prompt) {
  std::vector<std::vector<TokenId>> tokens;
  std::vector<HeldPrefix> prefixes;
  for (const Held& h : held) tokens.push_back(ids(h.tokens));
  for (size_t i = 0; i < held.size(); ++i) {
    prefixes.push_back({tokens[i], held[i].points, held[i].busy, held[i].last_used});
  }
  return choose_prefix(prefixes, ids(prompt));
}

TEST(PrefixChoice, TakesTheLongestBeginning) {
  struct Case {
    const char* what;
    std::vector<Held> held;
    std::string_view prompt;
    std::optional<PrefixChoice> expected;
  };
  const Case cases[] = {
      {"nothing is held", {{""}}, "abc", PrefixChoice{0, 0, 0}},
      {"all are busy", {{"", {}, true}}, "abc", std::nullopt},
      {"the next turn", {{"xy"}, {"abc"}}, "abcd", PrefixChoice{1, 1, 3}},
      {"the last token must run", {{"abc"}}, "abc", PrefixChoice{0, 0, 0}},
      {"unless its logits are there", {{"abc", {{3, true}}}}, "abc", PrefixChoice{0, 0, 3}},
      {"a point without logits does not do", {{"abc", {{3, false}}}}, "abc", PrefixChoice{0, 0, 0}},
      {"an edited turn goes back to a point",
       {{"abcxx", {{2, false}, {3, true}}}},
       "abcd",
       PrefixChoice{0, 0, 3}},
      {"into another slot, where there is one",
       {{"abcxx", {{3, true}}}, {""}},
       "abcd",
       PrefixChoice{1, 0, 3}},
      {"a point past the difference does not count",
       {{"abxxx", {{3, true}}}},
       "abcd",
       PrefixChoice{0, 0, 0}},
      {"a busy sequence gives copies of its points",
       {{"abcxx", {{3, true}}, true}, {"q"}},
       "abcd",
       PrefixChoice{1, 0, 3}},
      {"but not of its end", {{"abc", {}, true}, {""}}, "abcd", PrefixChoice{1, 1, 0}},
      {"an empty slot rather than one in use",
       {{"q", {}, false, 1}, {"", {}, false, 9}},
       "abc",
       PrefixChoice{1, 1, 0}},
      {"the one used longest ago",
       {{"q", {}, false, 5}, {"r", {}, false, 3}, {"s", {}, false, 4}},
       "abc",
       PrefixChoice{1, 1, 0}},
  };
  for (const Case& c : cases) EXPECT_EQ(choose(c.held, c.prompt), c.expected) << c.what;
}

}  // namespace
}  // namespace sluice::engine
