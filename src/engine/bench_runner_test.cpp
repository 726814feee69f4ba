// Without these tests a benchmark could time the filling of a context, decode from another one, or
// see differences that the way to a context makes.
#include "engine/bench_runner.h"

#include "format/synthetic_checkpoint.h"
#include "io/test_files.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

class BenchRunnerTest : public ::testing::Test {
 protected:
  BenchRunnerTest() : loaded_(make_model()) {}

  model::LoadedModel make_model() const {
    format::SyntheticShape shape = format::SyntheticShape::tiny();
    shape.set_layers(6);
    format::write_synthetic_checkpoint(folder_.path(), shape, {});
    model::LoadOptions options;
    options.threads = 1;
    options.memory_bytes = 256u << 20;
    options.prefill_rows = 8;
    options.context = 64;
    options.sequences = 2;
    return model::LoadedModel(folder_.path(), options);
  }
  BenchRunner runner() { return BenchRunner(loaded_, input_); }
  /// Bytes of all spine panels.
  uint64_t spine_bytes() const {
    uint64_t bytes = 0;
    for (const SegmentId panel : loaded_.weights().pass_order) {
      bytes += payload_bytes(loaded_.weights().segments[panel.value]);
    }
    return bytes;
  }

  io::TestFolder folder_;
  model::LoadedModel loaded_;
  const std::vector<TokenId> text_ = {TokenId{3}, TokenId{10}, TokenId{17}, TokenId{99},
                                      TokenId{5}};
  std::atomic<bool> cancel_{false};
  uint64_t rows_ = 0;
  BenchInput input_{text_, cancel_, [this](uint32_t rows) { rows_ += rows; }};
};

TEST_F(BenchRunnerTest, OnlyThePointIsMeasured) {
  const BenchSettings settings{.prompt_tokens = {20}, .contexts = {0, 20}, .tokens = 4};
  BenchRunner bench = runner();
  ASSERT_TRUE(bench.warm_up(settings));
  const std::vector<BenchPoint> points = bench_points(settings);
  const std::vector<uint64_t> passes = {3, 4, 4};  // 20 rows go in chunks of 8.
  for (size_t i = 0; i < points.size(); ++i) {
    const auto measured = bench.measure(points[i]);
    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->stats.tokens, points[i].tokens);
    EXPECT_EQ(measured->stats.passes, passes[i]);
    EXPECT_EQ(measured->answer.ids.size(), i == 0 ? 1u : 4u);
    EXPECT_EQ(measured->answer.logits_digests.size(), measured->answer.ids.size());
    EXPECT_GT(measured->weight_bytes, passes[i] * spine_bytes());
  }
  EXPECT_EQ(rows_, rows_of_turn(settings));
}

TEST_F(BenchRunnerTest, TheWayToAContextChangesNothing) {
  const BenchSettings cold{.prompt_tokens = {9}, .contexts = {9, 17}, .tokens = 3, .cold = true};
  const BenchSettings once{.prompt_tokens = {9}, .contexts = {9}, .tokens = 3};
  BenchRunner bench = runner(), again = runner();
  // After the prompt the text goes on, whether the sequence held it or was filled anew.
  ASSERT_TRUE(bench.measure(bench_points(once)[0]));
  const auto grown = bench.measure(bench_points(once)[1]);
  const auto filled = again.measure(bench_points(cold)[1]);
  ASSERT_TRUE(grown && filled);
  EXPECT_EQ(answer_difference(grown->answer, filled->answer), std::nullopt);
  const auto longer = again.measure(bench_points(cold)[2]);
  ASSERT_TRUE(longer);
  EXPECT_NE(answer_difference(longer->answer, filled->answer), std::nullopt);
}

TEST_F(BenchRunnerTest, ACancelledOneGivesNothing) {
  cancel_ = true;
  BenchRunner bench = runner();
  EXPECT_FALSE(bench.warm_up({.prompt_tokens = {4}, .tokens = 2}));
  EXPECT_FALSE(bench.measure({.phase = BenchPhase::kDecode, .context = 4, .tokens = 2}));
}

}  // namespace
}  // namespace sluice::engine
