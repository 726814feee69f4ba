// Without this test the cache gives up the wrong experts unseen: every answer stays right and every
// token waits for more reads.
#include "stream/cache_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

constexpr double kForEver = std::numeric_limits<double>::infinity();

std::vector<uint32_t> take_all(CachePolicy& policy) {
  std::vector<uint32_t> order;
  while (const std::optional<SegmentId> lowest = policy.lowest()) {
    policy.withhold(*lowest);
    order.push_back(lowest->value);
  }
  return order;
}

struct OrderCase {
  const char* name;
  CachePolicyOptions options;
  std::vector<std::vector<uint32_t>> turns;  // What each uses.
  std::vector<uint32_t> order;               // Of experts 0 .. 3, the first to go in front.
};

TEST(CachePolicy, GivesUpTheLowestScoreFirst) {
  const CachePolicyOptions last_use{.half_life = 1.0 / 1024, .recent_uses = 0};
  const CachePolicyOptions all_uses{.half_life = kForEver, .recent_uses = 0};
  const CachePolicyOptions decaying{.half_life = 1, .recent_uses = 0};
  const CachePolicyOptions recent{.half_life = kForEver, .recent_uses = 2};
  const OrderCase cases[] = {
      {"never used goes by id", last_use, {}, {0, 1, 2, 3}},
      {"last use", last_use, {{3}, {3}, {1}, {0}, {2}}, {3, 1, 0, 2}},
      {"all uses", all_uses, {{3}, {3}, {3}, {1}, {1}, {2}}, {0, 2, 1, 3}},
      {"as many uses go by the last", all_uses, {{2}, {0}, {3}, {1}}, {2, 0, 3, 1}},
      {"1/8 + 1/4 is less than 1/2", decaying, {{3}, {3}, {2}, {1}}, {0, 3, 2, 1}},
      {"1/4 + 1/2 is more than 1/2", decaying, {{3}, {2, 3}, {1}}, {0, 2, 3, 1}},
      {"recent counts for two uses more", recent, {{3}, {3}, {3}, {2}, {2}, {1}}, {0, 2, 3, 1}},
      {"but not for three", recent, {{3}, {3}, {3}, {3}, {1}}, {0, 2, 1, 3}},
  };
  for (const OrderCase& c : cases) {
    CachePolicy policy(4, c.options);
    for (const std::vector<uint32_t>& turn : c.turns) {
      policy.begin_turn();
      for (const uint32_t expert : turn) policy.use({expert});
    }
    for (uint32_t expert = 0; expert < 4; ++expert) policy.offer({expert});
    EXPECT_EQ(take_all(policy), c.order) << c.name;
  }
}

TEST(CachePolicy, TouchingMakesRecentAndCountsNoUse) {
  CachePolicy policy(3, {.half_life = kForEver, .recent_uses = 2});
  for (uint32_t expert = 0; expert < 3; ++expert) policy.offer({expert});
  policy.begin_turn();
  policy.use({1});
  policy.begin_turn();
  policy.touch({0});
  EXPECT_EQ(policy.lowest().value().value, 2u);
  policy.withhold({2});
  EXPECT_EQ(policy.lowest().value().value, 1u);
  policy.begin_turn();
  EXPECT_EQ(policy.lowest().value().value, 0u);
}

/// The definition of the score, in plain loops over all uses.
class PlainPolicy {
 public:
  explicit PlainPolicy(const CachePolicyOptions& options) : options_(options) {}

  void begin_turn() { ++turn_; }
  void use(uint32_t expert) { uses_.emplace_back(expert, turn_); }

  [[nodiscard]] double score(uint32_t expert) const {
    double score = 0;
    uint64_t last = 0;
    for (const auto& [used, turn] : uses_) {
      if (used != expert) continue;
      score += std::exp2(-age(turn));
      last = turn;
    }
    if (last > 0 && last + options_.turns_per_pass > turn_) {
      score += options_.recent_uses * std::exp2(-age(last));
    }
    return score;
  }

 private:
  [[nodiscard]] double age(uint64_t turn) const {
    return static_cast<double>(turn_ - turn) / (options_.half_life * options_.turns_per_pass);
  }
  const CachePolicyOptions options_;
  uint64_t turn_ = 0;
  std::vector<std::pair<uint32_t, uint64_t>> uses_;
};

TEST(CachePolicy, FollowsItsDefinitionUnderRandomCalls) {
  constexpr uint32_t kLayers = 3, kExperts = 8;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const CachePolicyOptions options{
        .half_life = 0.7 + seed % 5, .recent_uses = 1.3 * (seed % 4), .turns_per_pass = kLayers};
    CachePolicy policy(kLayers * kExperts, options);
    PlainPolicy plain(options);
    std::vector<bool> offered(kLayers * kExperts);
    for (uint32_t turn = 0; turn < 100; ++turn) {
      policy.begin_turn();
      plain.begin_turn();
      for (uint32_t expert = 0; expert < kExperts; ++expert) {
        const uint32_t id = turn % kLayers * kExperts + expert;
        if (random() % 4 != 0) continue;
        policy.use({id});
        plain.use(id);
      }
      const auto changed = static_cast<uint32_t>(random()) % (kLayers * kExperts);
      offered[changed] ? policy.withhold({changed}) : policy.offer({changed});
      offered[changed] = !offered[changed];
      const std::optional<SegmentId> lowest = policy.lowest();
      ASSERT_EQ(lowest.has_value(), std::ranges::find(offered, true) != offered.end());
      if (!lowest) continue;
      ASSERT_TRUE(offered[lowest->value]) << "seed " << seed << " turn " << turn;
      const double score = plain.score(lowest->value);
      for (uint32_t id = 0; id < offered.size(); ++id) {
        if (!offered[id]) continue;
        ASSERT_LE(score, plain.score(id) + 1e-9)
            << "seed " << seed << " turn " << turn << " expert " << id;
      }
    }
  }
}

TEST(CachePolicy, KeepsWhatTheNextTokenUsesAgainWhenOneTokenDoesNotFit) {
  // Each of 4 layers always uses expert 0 and a new one: 8 experts, 6 slots. By last use alone,
  // everything would be gone when its layer's turn comes again.
  constexpr uint32_t kLayers = 4, kTokens = 50, kExperts = kTokens + 1, kSlots = 6;
  CachePolicy policy(size_t{kLayers} * kExperts, {.turns_per_pass = kLayers});
  std::vector<bool> resident(size_t{kLayers} * kExperts);
  uint32_t held = 0, hits = 0;
  for (uint32_t token = 0; token < kTokens; ++token) {
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      policy.begin_turn();
      const SegmentId used[] = {{layer * kExperts}, {layer * kExperts + token + 1}};
      for (const SegmentId id : used) {
        if (resident[id.value]) policy.withhold(id);
        hits += resident[id.value] ? 1 : 0;
        policy.use(id);
      }
      for (const SegmentId id : used) {
        if (resident[id.value]) continue;
        if (held == kSlots) {
          const SegmentId lowest = policy.lowest().value();
          policy.withhold(lowest);
          resident[lowest.value] = false;
          --held;
        }
        resident[id.value] = true;
        ++held;
      }
      for (const SegmentId id : used) policy.offer(id);
    }
  }
  EXPECT_GE(hits, (kTokens - 4) * kLayers);
}

}  // namespace
}  // namespace sluice::stream
