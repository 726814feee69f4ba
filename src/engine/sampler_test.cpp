// Without these tests a filter, a penalty or a tie could change which token is drawn, and nobody
// would see.
#include "engine/sampler.h"

#include "base/error.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<TokenId> tokens(std::initializer_list<int32_t> ids) {
  std::vector<TokenId> out;
  for (const int32_t id : ids) out.push_back(TokenId{id});
  return out;
}

/// Logits whose softmax is `probabilities`.
std::vector<float> logits_of(std::initializer_list<double> probabilities) {
  std::vector<float> out;
  for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

/// How often each token comes out over `draws` positions.
std::map<int32_t, int> counts(std::span<const float> logits, const SamplingOptions& options,
                              int draws) {
  std::map<int32_t, int> out;
  for (int i = 0; i < draws; ++i) {
    ++out[sample(logits, options, {}, static_cast<uint64_t>(i)).value];
  }
  return out;
}

std::set<int32_t> support(std::span<const float> logits, const SamplingOptions& options) {
  std::set<int32_t> out;
  for (const auto& [id, count] : counts(logits, options, 2000)) out.insert(id);
  return out;
}

TEST(Sampler, GreedyTakesTheLargestAndTheLowestIdOfEquals) {
  const std::vector<float> logits = {-1.0f, 3.0f, 2.0f, 3.0f, -kInf};
  EXPECT_EQ(sample(logits, {}, {}, 0).value, 1);
  EXPECT_EQ(sample(logits, {.seed = 99}, {}, 12).value, 1);
}

TEST(Sampler, AMaskLeavesOnlyTheTokensThatItAllows) {
  std::vector<float> logits(70);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i);
  apply_mask({}, logits);
  EXPECT_EQ(sample(logits, {}, {}, 0).value, 69);
  const std::array<uint64_t, 2> allowed = {uint64_t{1} << 5 | uint64_t{1} << 63, uint64_t{1} << 2};
  apply_mask(allowed, logits);
  EXPECT_EQ(support(logits, {.temperature = 50.0}), (std::set<int32_t>{5, 63, 66}));
}

TEST(Sampler, TopKOfOneIsGreedyAtAnyTemperature) {
  const std::vector<float> logits = {0.0f, 0.5f, 0.5f, 0.4f};
  for (uint64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(sample(logits, {.temperature = 5.0, .top_k = 1}, {}, position).value, 1);
  }
}

TEST(Sampler, FiltersKeepExactlyTheirTokens) {
  const std::vector<float> logits = logits_of({0.05, 0.4, 0.1, 0.25, 0.2});
  struct Case {
    SamplingOptions options;
    std::set<int32_t> kept;
  };
  const Case cases[] = {
      {{.temperature = 1.0}, {0, 1, 2, 3, 4}},
      {{.temperature = 1.0, .top_k = 3}, {1, 3, 4}},
      {{.temperature = 1.0, .top_k = 100}, {0, 1, 2, 3, 4}},
      {{.temperature = 1.0, .top_p = 0.0}, {1}},
      {{.temperature = 1.0, .top_p = 0.39}, {1}},
      {{.temperature = 1.0, .top_p = 0.5}, {1, 3}},
      {{.temperature = 1.0, .top_p = 0.8}, {1, 3, 4}},
      {{.temperature = 1.0, .min_p = 0.3}, {1, 3, 4}},
      {{.temperature = 1.0, .min_p = 1.0}, {1}},
      // After top-k, the shares of what is left are 0.615 and 0.385.
      {{.temperature = 1.0, .top_k = 2, .top_p = 0.61}, {1}},
      // min-p is applied first and leaves 0.47, 0.29, 0.24.
      {{.temperature = 1.0, .top_p = 0.75, .min_p = 0.3}, {1, 3}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(support(logits, c.options), c.kept)
        << "top_k " << c.options.top_k << " top_p " << c.options.top_p << " min_p "
        << c.options.min_p;
  }
}

TEST(Sampler, EqualLogitsAreCutByTopKFromTheHighestId) {
  const std::vector<float> logits(6, 1.0f);
  EXPECT_EQ(support(logits, {.temperature = 1.0, .top_k = 2}), (std::set<int32_t>{0, 1}));
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  // 5 standard deviations of a count of 100,000 draws are at most 791.
  const auto seen = counts(logits_of({0.5, 0.3, 0.2}), {.temperature = 1.0, .seed = 7}, 100000);
  EXPECT_NEAR(seen.at(0), 50000, 791);
  EXPECT_NEAR(seen.at(1), 30000, 791);
  EXPECT_NEAR(seen.at(2), 20000, 791);
}

TEST(Sampler, TemperatureSharpensAndFlattens) {
  // Temperature T turns shares p into p^(1/T): at 0.5 the shares are 9:1, at 2 they are sqrt(3):1.
  const std::vector<float> logits = logits_of({0.75, 0.25});
  EXPECT_NEAR(counts(logits, {.temperature = 0.5}, 100000).at(0), 90000, 791);
  EXPECT_NEAR(counts(logits, {.temperature = 2.0}, 100000).at(0), 63397, 791);
}

TEST(Sampler, ADrawDependsOnSeedAndPositionAlone) {
  const std::vector<float> logits(64, 0.0f);
  // These ids are part of the promise that a seed means the same on every machine.
  const std::array<int32_t, 8> expected = {21, 61, 31, 4, 43, 4, 12, 47};
  SamplingOptions options{.temperature = 1.0, .seed = 42};
  std::array<int32_t, 8> forwards{}, backwards{};
  for (size_t i = 0; i < 8; ++i) forwards[i] = sample(logits, options, {}, i).value;
  for (size_t i = 8; i-- > 0;) backwards[i] = sample(logits, options, {}, i).value;
  EXPECT_EQ(forwards, backwards);
  EXPECT_EQ(forwards, expected);
  options.seed = 43;
  std::array<int32_t, 8> other{};
  for (size_t i = 0; i < 8; ++i) other[i] = sample(logits, options, {}, i).value;
  EXPECT_NE(forwards, other);
}

TEST(Sampler, PenaltiesMoveTheChoice) {
  struct Case {
    const char* what;
    std::vector<float> logits;
    SamplingOptions options;
    std::vector<TokenId> prompt, generated;
    int32_t expected;
  };
  const Case cases[] = {
      {"repetition divides a positive logit",
       {3.0f, 2.0f},
       {.repetition_penalty = 2.0},
       tokens({0}),
       {},
       1},
      {"repetition multiplies a negative logit",
       {-1.0f, -1.5f},
       {.repetition_penalty = 2.0},
       {},
       tokens({0}),
       1},
      {"repetition counts once",
       {5.0f, 2.0f},
       {.repetition_penalty = 2.0},
       tokens({0, 0, 0}),
       tokens({0}),
       0},
      {"presence ignores the prompt", {3.0f, 2.0f}, {.presence_penalty = 2.0}, tokens({0}), {}, 0},
      {"presence counts once", {3.0f, 2.0f}, {.presence_penalty = 0.9}, {}, tokens({0, 0, 0}), 0},
      {"presence", {3.0f, 2.0f}, {.presence_penalty = 1.1}, {}, tokens({0}), 1},
      {"frequency ignores the prompt",
       {3.0f, 2.0f},
       {.frequency_penalty = 2.0},
       tokens({0}),
       {},
       0},
      {"frequency counts each", {3.0f, 2.0f}, {.frequency_penalty = 0.4}, {}, tokens({0, 0, 0}), 1},
      {"frequency of two is not enough",
       {3.0f, 2.0f},
       {.frequency_penalty = 0.4},
       {},
       tokens({0, 0}),
       0},
      {"a tie that a penalty makes goes to the lowest id",
       {3.0f, 2.0f},
       {.presence_penalty = 1.0},
       {},
       tokens({0}),
       0},
      {"ids outside the vocabulary do nothing",
       {3.0f, 2.0f},
       {.presence_penalty = 9.0},
       {},
       tokens({-1, 2, 7}),
       0},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(sample(c.logits, c.options, {c.prompt, c.generated}, 0).value, c.expected) << c.what;
  }
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  const std::vector<std::vector<float>> bad = {{1.0f, NAN, 0.0f}, {1.0f, kInf}, {-kInf, -kInf}};
  for (const std::vector<float>& logits : bad) {
    for (const double temperature : {0.0, 1.0}) {
      try {
        (void)sample(logits, {.temperature = temperature}, {}, 17);
        FAIL() << "a token was chosen";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
        EXPECT_THAT(error.what(), HasSubstr("position 17"));
      }
    }
  }
}

TEST(Sampler, OptionsOutOfRangeAreNamed) {
  const std::pair<SamplingOptions, const char*> cases[] = {
      {{.temperature = -0.1}, "temperature"},
      {{.temperature = NAN}, "temperature"},
      {{.top_p = 1.5}, "top-p"},
      {{.min_p = -1.0}, "min-p"},
      {{.repetition_penalty = 0.0}, "repetition-penalty"},
      {{.presence_penalty = 1e9}, "presence-penalty"},
      {{.frequency_penalty = -1e9}, "frequency-penalty"},
  };
  for (const auto& [options, name] : cases) {
    try {
      check_sampling(options);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
  check_sampling({});
}

}  // namespace
}  // namespace sluice::engine
