// Without these tests a benchmark could decode at another context than it says, run out of room
// after hours, or favour the arm that comes first.
#include "engine/bench_plan.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

BenchPoint prefill(uint32_t tokens) { return {.phase = BenchPhase::kPrefill, .tokens = tokens}; }
BenchPoint decode(uint32_t context, uint32_t tokens, uint32_t fill_from) {
  return {
      .phase = BenchPhase::kDecode, .context = context, .tokens = tokens, .fill_from = fill_from};
}

TEST(BenchPlan, PointsRoomAndRows) {
  struct Case {
    const char* what;
    BenchSettings settings;
    std::vector<BenchPoint> points;
    uint32_t context, warm_up;
    uint64_t rows;
  };
  const std::vector<Case> cases = {
      {"a context goes on from a shorter one",
       {.prompt_tokens = {64}, .contexts = {0, 64, 512}, .tokens = 16},
       {prefill(64), decode(0, 16, 0), decode(64, 16, 16), decode(512, 16, 80)},
       529,
       64,
       79 + 64 + 16 + 64 + 448},
      {"from the prompt too",
       {.prompt_tokens = {8, 32}, .contexts = {32}, .tokens = 4},
       {prefill(8), prefill(32), decode(32, 4, 32)},
       37,
       8,
       11 + 8 + 32 + 4},
      {"but not from a longer one",
       {.prompt_tokens = {64}, .contexts = {60, 10}, .tokens = 4},
       {prefill(64), decode(60, 4, 0), decode(10, 4, 0)},
       69,
       64,
       67 + 64 + 64 + 14},
      {"and not when the memory is to be empty",
       {.prompt_tokens = {8}, .contexts = {0, 8}, .tokens = 4, .cold = true},
       {prefill(8), decode(0, 4, 0), decode(8, 4, 0)},
       13,
       8,
       8 + 4 + 12},
      {"prompts alone", {.prompt_tokens = {5}, .contexts = {9}}, {prefill(5)}, 6, 5, 5 + 5},
      {"decoding alone",
       {.prompt_tokens = {0}, .contexts = {0}, .tokens = 3},
       {decode(0, 3, 0)},
       5,
       1,
       3 + 3},
      {"nothing", {.prompt_tokens = {0}, .contexts = {7}}, {}, 2, 1, 1},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(bench_points(c.settings), c.points) << c.what;
    EXPECT_EQ(bench_context(c.settings), c.context) << c.what;
    EXPECT_EQ(warm_up_prompt(c.settings), c.warm_up) << c.what;
    EXPECT_EQ(rows_of_turn(c.settings), c.rows) << c.what;
  }
}

TEST(BenchPlan, ArmsGoForwardsAndBackwards) {
  EXPECT_EQ(arm_order(3, 0), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(arm_order(3, 1), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(arm_order(3, 2), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(arm_order(1, 1), (std::vector<size_t>{0}));
}

}  // namespace
}  // namespace sluice::engine
