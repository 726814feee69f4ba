// Without these tests a prompt could stop the answers of others, or answers a prompt.
#include "engine/pass_plan.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using Rows = std::vector<uint32_t>;
constexpr WaitingRows kAnswer{.rows = 1, .prompt = false};
constexpr WaitingRows prompt(uint32_t rows) { return {.rows = rows, .prompt = true}; }

TEST(PassPlan, SharesRows) {
  struct Case {
    std::vector<WaitingRows> sequences;
    uint32_t rows_max;
    Rows expected;
  };
  const Case cases[] = {
      {{}, 4, {}},
      {{kAnswer}, 1, {1}},
      {{prompt(10)}, 4, {4}},
      {{prompt(3)}, 4, {3}},
      {{kAnswer, prompt(10), kAnswer}, 8, {1, 6, 1}},
      {{prompt(3), kAnswer, prompt(10)}, 8, {3, 1, 4}},
      {{prompt(10), prompt(10)}, 8, {8, 0}},
      // Answers leave a row to a prompt, and a single row belongs to them.
      {{kAnswer, kAnswer, kAnswer, prompt(5)}, 3, {1, 1, 0, 1}},
      {{kAnswer, prompt(5)}, 1, {1, 0}},
      {{{.rows = 0, .prompt = false}, kAnswer}, 2, {0, 1}},
  };
  for (const Case& c : cases) EXPECT_EQ(plan_pass(c.sequences, c.rows_max), c.expected);
}

}  // namespace
}  // namespace sluice::engine
