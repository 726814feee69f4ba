// Without this test hints could read more than they save, of guesses that are mostly wrong, or for
// layers where guessing never pays.
#include "stream/hint_policy.h"

#include <random>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

constexpr uint64_t kExpert = 1000, kGuess = 100;
constexpr uint32_t kLayers = 3, kRanks = 4;
// As much as any account holds.
constexpr HintTotals kPlenty{.missed = 1'000'000, .read = 0, .used = 0};

HintPolicyOptions options(const HintLimits& limits = {}) {
  return {.layers = kLayers,
          .ranks = kRanks,
          .expert_bytes = kExpert,
          .guess_bytes = kGuess,
          .limits = limits};
}

void learn(HintPolicy& policy, uint32_t layer, uint32_t rank, int right, int wrong = 0) {
  for (int i = 0; i < right; ++i) policy.learn(layer, {.rank = rank}, true);
  for (int i = 0; i < wrong; ++i) policy.learn(layer, {.rank = rank}, false);
}

/// Which of the ranks 0, 1, .. are hinted, as a string of digits.
std::string hinted(HintPolicy& policy, uint32_t layer, const HintTotals& totals) {
  std::vector<HintCandidate> candidates;
  for (uint32_t rank = 0; rank < kRanks; ++rank) candidates.push_back({.rank = rank});
  policy.choose(layer, candidates, totals);
  std::string ranks;
  for (const HintCandidate& candidate : candidates) {
    if (candidate.hinted) ranks += std::to_string(candidate.rank);
  }
  return ranks;
}

TEST(HintPolicy, LearnsByLayerAndRankAndFollowsAChange) {
  HintPolicy policy(options());
  EXPECT_EQ(policy.probability(1, 2), 0.5);
  learn(policy, 1, 2, 100);
  EXPECT_GT(policy.probability(1, 2), 0.9);
  EXPECT_EQ(policy.probability(1, 1), 0.5);
  EXPECT_EQ(policy.probability(0, 2), 0.5);
  learn(policy, 1, 2, 0, 100);
  EXPECT_LT(policy.probability(1, 2), 0.3);
}

TEST(HintPolicy, HintsTheProbableWhileTheAccountBearsTheLoss) {
  struct Case {
    const char* what;
    int right, wrong;  // Of every rank.
    HintTotals totals;
    const char* hinted;
  };
  for (const Case& c : {
           Case{"nothing missed yet", 100, 0, {}, ""},
           Case{"less than one expert's worth",
                100,
                0,
                {.missed = 49'000, .read = 0, .used = 0},
                ""},
           Case{"one expert's worth", 100, 0, {.missed = 51'000, .read = 0, .used = 0}, "0"},
           Case{"two", 100, 0, {.missed = 101'000, .read = 0, .used = 0}, "01"},
           Case{"paid out", 100, 0, {.missed = 101'000, .read = 1500, .used = 0}, ""},
           Case{"and come back", 100, 0, {.missed = 101'000, .read = 1500, .used = 1000}, "0"},
           Case{"no more than one layer's worth", 100, 0, kPlenty, "0123"},
           Case{"four of five are right", 80, 20, {.missed = 101'000, .read = 0, .used = 0}, "0"},
           Case{"two of five are wrong", 3, 2, {.missed = 101'000, .read = 0, .used = 0}, ""},
           Case{"most are wrong", 20, 80, kPlenty, ""},
       }) {
    HintPolicy policy(options());
    // Taking turns, so that what was last does not count for more.
    for (int i = 0; i < 100; ++i) {
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const bool right =
            i * c.right / (c.right + c.wrong) != (i + 1) * c.right / (c.right + c.wrong);
        policy.learn(0, {.rank = rank}, right);
      }
    }
    EXPECT_EQ(hinted(policy, 0, c.totals), c.hinted) << c.what;
  }
}

TEST(HintPolicy, ALongPromptDoesNotPayForATokenThatWastesMuch) {
  HintPolicy policy(options());
  (void)hinted(policy, 0, kPlenty);
  EXPECT_EQ(policy.credit(), 1.0 * kRanks * kExpert);
}

TEST(HintPolicy, WasteStaysBelowItsShareWhateverHappens) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    HintPolicy policy(options());
    HintTotals totals;
    std::vector<uint32_t> chances(kLayers * kRanks);  // Percent; they change without a warning.
    uint64_t hints = 0;
    for (int pass = 0; pass < 2000; ++pass) {
      if (pass % 500 == 0) {
        for (uint32_t& chance : chances) chance = static_cast<uint32_t>(random() % 101);
      }
      for (uint32_t layer = 0; layer < kLayers; ++layer) {
        totals.missed += random() % 4 * kExpert;
        std::vector<HintCandidate> candidates;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
          if (random() % 2 == 0) candidates.push_back({.rank = rank});
        }
        policy.choose(layer, candidates, totals);
        for (const HintCandidate& candidate : candidates) {
          const bool right = random() % 100 < chances[layer * kRanks + candidate.rank];
          policy.learn(layer, candidate, right);
          if (!candidate.hinted) continue;
          ++hints;
          totals.read += kExpert;
          // The worst moment to look: all has been read and nothing has been asked for.
          ASSERT_LE(static_cast<double>(totals.read - totals.used),
                    0.02 * static_cast<double>(totals.missed))
              << "seed " << seed << ", pass " << pass;
        }
        for (const HintCandidate& candidate : candidates) {
          if (candidate.hinted && random() % 100 < chances[layer * kRanks + candidate.rank]) {
            totals.used += kExpert;
          }
        }
      }
    }
    EXPECT_GT(hints, 100u) << "seed " << seed;
  }
}

TEST(HintPolicy, ALayerThatDoesNotPayIsProbedNowAndThen) {
  HintPolicy policy(options({.probe_every = 4}));
  int guesses = 0;
  for (; policy.pays(0) && guesses < 1000; ++guesses) {
    ASSERT_TRUE(policy.begin(0));
    policy.end(0, 0);
    ASSERT_TRUE(policy.begin(1));
    policy.end(1, kGuess * (guesses % 3));  // As much as it costs, on average.
  }
  EXPECT_GT(guesses, 16) << "no time to learn";
  EXPECT_LT(guesses, 100);
  EXPECT_TRUE(policy.pays(1));
  EXPECT_TRUE(policy.pays(2)) << "a layer that has never been guessed for";
  std::string asked;
  for (int pass = 0; pass < 8; ++pass) asked += policy.begin(0) ? '1' : '0';
  EXPECT_EQ(asked, "00010001");
  // Some probes that pay switch it on again.
  for (int probe = 0; probe < 3; ++probe) policy.end(0, kExpert);
  EXPECT_TRUE(policy.pays(0));
  EXPECT_TRUE(policy.begin(0));
}

}  // namespace
}  // namespace sluice::stream
