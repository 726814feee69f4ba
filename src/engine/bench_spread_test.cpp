// Without these tests a slow turn, or a machine that became slow for all, could pass for a
// difference between two settings.
#include "engine/bench_spread.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

TEST(BenchSpread, MedianAndEnds) {
  struct Case {
    std::vector<double> values;
    std::optional<Spread> expected;
  };
  for (const Case& c :
       {Case{{}, std::nullopt}, Case{{3}, Spread{3, 3, 3}}, Case{{9, 1, 2}, Spread{2, 1, 9}},
        Case{{4, 1, 100, 2}, Spread{3, 1, 100}}, Case{{5, 5, 5, 5, 1}, Spread{5, 1, 5}}}) {
    EXPECT_EQ(spread_of(c.values), c.expected) << c.values.size();
  }
}

TEST(BenchSpread, RatiosAreOfOneTurn) {
  struct Case {
    const char* what;
    std::vector<double> values, base, expected;
  };
  for (const Case& c : {
           Case{"the machine slows down, the ratio stays", {20, 10, 5}, {10, 5, 2.5}, {2, 2, 2}},
           Case{"stopped in the last turn", {6, 6, 6}, {3, 2}, {2, 3}},
           Case{"stopped before the arm's turn", {6}, {3, 2}, {2}},
           Case{"nothing to compare with", {6, 8}, {0, 2}, {4}},
           Case{"nothing", {}, {1}, {}},
       }) {
    EXPECT_EQ(paired_ratios(c.values, c.base), c.expected) << c.what;
  }
}

}  // namespace
}  // namespace sluice::engine
