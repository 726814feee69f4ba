// Without these tests a setting that computes something else could win a benchmark.
#include "engine/bench_oracle.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

TEST(BenchOracle, TheFirstDifferenceIsNamed) {
  struct Case {
    BenchAnswer answer;
    std::optional<std::string> expected;
  };
  const BenchAnswer first{{TokenId{7}, TokenId{8}, TokenId{9}}, {70, 80, 90}};
  for (const Case& c : {
           Case{first, std::nullopt},
           Case{{{TokenId{7}, TokenId{5}, TokenId{4}}, {70, 81, 91}}, "token 2 is 5 instead of 8"},
           Case{{{TokenId{7}, TokenId{8}, TokenId{9}}, {70, 80, 91}},
                "token 3 is 9 in both, but was chosen from other logits"},
           // A difference of logits comes before that of a later token which it led to.
           Case{{{TokenId{7}, TokenId{8}, TokenId{1}}, {71, 80, 91}},
                "token 1 is 7 in both, but was chosen from other logits"},
           Case{{{TokenId{7}, TokenId{8}}, {70, 80}}, "there are 2 tokens instead of 3"},
           Case{{}, "there are 0 tokens instead of 3"},
       }) {
    EXPECT_EQ(answer_difference(c.answer, first), c.expected);
  }
  EXPECT_EQ(answer_difference(first, {}), "there are 3 tokens instead of 0");
}

}  // namespace
}  // namespace sluice::engine
