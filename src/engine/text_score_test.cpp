// Without these tests a perplexity could skip tokens, count some twice or depend on large logits.
#include "engine/text_score.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

TEST(LogProbability, IsThatOfTheSoftmax) {
  struct Case {
    std::vector<float> logits;
    int32_t token;
    double expected;
  };
  for (const Case& c : {Case{{3.0f}, 0, 0.0}, Case{{1.0f, 1.0f}, 1, -std::log(2.0)},
                        Case{{0.0f, 1.0f, 2.0f}, 0, -2.407605964444380}, Case{{1e4f, 0.0f}, 0, 0.0},
                        Case{{1e4f, 0.0f}, 1, -1e4}, Case{{-1e4f, -1e4f}, 0, -std::log(2.0)},
                        Case{{3e38f, -3e38f}, 0, 0.0}}) {
    EXPECT_NEAR(log_probability(c.logits, TokenId{c.token}), c.expected, 1e-12);
  }
}

TEST(LogProbability, RefusesWhatIsNoNumber) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    EXPECT_THROW((void)log_probability(std::vector<float>{1.0f, bad}, TokenId{0}), Error);
  }
}

TEST(TextWindows, Table) {
  struct Case {
    uint64_t tokens;
    WindowOptions options;
    std::vector<TextWindow> expected;
  };
  for (const Case& c : {Case{0, {4, 2}, {}}, Case{1, {4, 2}, {}}, Case{2, {4, 2}, {{0, 1, 2}}},
                        Case{4, {4, 2}, {{0, 1, 4}}}, Case{5, {4, 2}, {{0, 1, 4}, {2, 4, 5}}},
                        Case{7, {4, 2}, {{0, 1, 4}, {2, 4, 6}, {4, 6, 7}}},
                        Case{5, {2, 1}, {{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}}},
                        Case{9, {4, 3}, {{0, 1, 4}, {3, 4, 7}, {6, 7, 9}}}}) {
    EXPECT_EQ(text_windows(c.tokens, c.options), c.expected) << c.tokens;
  }
}

TEST(TextWindows, EveryTokenButTheFirstOnceAndWithEnoughContext) {
  for (uint64_t window = 2; window < 9; ++window) {
    for (uint64_t stride = 1; stride < window; ++stride) {
      for (uint64_t tokens = 0; tokens < 40; ++tokens) {
        uint64_t next = 1;
        for (const TextWindow& w : text_windows(tokens, {window, stride})) {
          EXPECT_EQ(w.first_scored, next);
          EXPECT_GT(w.end, w.first_scored);
          EXPECT_LE(w.end - w.begin, window);
          EXPECT_GE(w.first_scored - w.begin, w.begin == 0 ? 1 : window - stride);
          next = w.end;
        }
        EXPECT_EQ(next, std::max<uint64_t>(tokens, 1));
      }
    }
  }
}

TEST(TextScore, Figures) {
  // Three tokens of four bytes in all, each with probability 1/4.
  const TextScore score{.tokens = 3, .bytes = 4, .log_probability = 3 * std::log(0.25)};
  EXPECT_DOUBLE_EQ(score.mean_log_probability(), std::log(0.25));
  EXPECT_DOUBLE_EQ(score.bits_per_byte(), 1.5);
  EXPECT_DOUBLE_EQ(score.perplexity(), 4.0);
  EXPECT_DOUBLE_EQ(score.byte_perplexity(), std::exp2(1.5));
  EXPECT_EQ(TextScore{}.bits_per_byte(), 0.0);
  EXPECT_EQ(TextScore{}.perplexity(), 0.0);
}

}  // namespace
}  // namespace sluice::engine
