// A guess never changes a result, so without this test it could be wrong always, or made when there
// is nothing to gain, and nobody would see more than a slow program.
#include "model/expert_guess.h"

#include "base/error.h"
#include "model/loaded_model.h"
#include "model/test_checkpoint.h"

#include <atomic>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

namespace sluice::model {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(RankExperts, TakesTheMostProbableFirst) {
  struct Case {
    const char* what;
    std::vector<float> logits, bias;
    std::vector<uint32_t> best;
  };
  for (const Case& c : {
           Case{"by logit", {0, 2, -1, 1}, {0, 0, 0, 0}, {1, 3, 0, 2}},
           Case{"the bias counts after the sigmoid", {0, 9, -9, 1}, {0.7f, 0, 0.9f, 0}, {0, 1, 2}},
           Case{"ties go to the lowest id", {1, 1, 1, 1}, {0, 0, 0, 0}, {0, 1, 2}},
           Case{"what is no number comes last", {kNaN, -5, kNaN, 5}, {0, 0, 0, 0}, {3, 1, 0}},
           Case{"nor is that of a bias", {3, 2, 1, 0}, {kNaN, 0, 0, 0}, {1, 2, 3}},
       }) {
    std::vector<float> logits = c.logits;
    std::vector<uint32_t> order(logits.size()), best(c.best.size());
    rank_experts(logits, c.bias, order, best);
    EXPECT_EQ(best, c.best) << c.what;
  }
}

/// Every expert may be hinted, and every layer is guessed for.
constexpr stream::HintLimits kNoLimits{.waste_max = 1e9, .probability_min = 0, .probe_every = 1};

/// Memory for the spine and for that share of the experts.
uint64_t memory_for(const std::filesystem::path& folder, LoadOptions options, double share) {
  const stream::MemoryPlan all = inspect_model(folder, options).plan;
  const double given_up = (1 - share) * static_cast<double>(all.expert_slot_bytes);
  return all.total_bytes - static_cast<uint64_t>(given_up);
}

struct World {
  explicit World(const TestCheckpoint& checkpoint, LoadOptions options = {}) {
    checkpoint.write(folder.path());
    options.threads = 1;
    options.prefill_rows = 16;
    options.context = 256;
    if (options.memory_bytes == 0) {
      options.memory_bytes = uint64_t{1} << 30;
      options.memory_bytes = memory_for(folder.path(), options, 0.5);
    }
    loaded = std::make_unique<LoadedModel>(folder.path(), options);
    state = loaded->make_state();
  }
  ~World() { state.reset(); }

  void pass(uint32_t rows) {
    std::vector<TokenId> tokens;
    for (uint32_t i = 0; i < rows; ++i) tokens.push_back({static_cast<int32_t>(next++ * 37 % 500)});
    const std::vector<SequenceState*> states(rows, state.get());
    loaded->model().forward({.tokens = tokens, .states = states, .logits_rows = {}}, {});
  }
  [[nodiscard]] const LayerGuesses& layer(uint32_t l) const {
    return loaded->model().guess()->statistics()[l];
  }
  [[nodiscard]] stream::StreamerCounters counters() const { return loaded->streamer().counters(); }

  TestFolder folder;
  std::unique_ptr<LoadedModel> loaded;
  std::unique_ptr<SequenceState> state;
  uint32_t next = 1;
};

/// Eight layers, of which the first has no experts; each token uses 2 of 12.
TestCheckpoint small_checkpoint() {
  format::SyntheticShape shape = format::SyntheticShape::tiny();
  shape.set_layers(8);
  shape.set_experts(12);
  shape.top_k = 2;
  shape.vocab = 512;
  return TestCheckpoint(shape);
}

/// Only its first layer adds to the stream: whatever a later one sees, the next one sees too.
TestCheckpoint still_checkpoint() {
  TestCheckpoint checkpoint = small_checkpoint();
  for (StoredTensor& tensor : checkpoint.tensors) {
    for (const char* last : {".o_proj.", ".shared_experts.down_proj.", ".routed_expert_up_proj."}) {
      if (tensor.name.find(last) != std::string::npos) tensor.data.assign(tensor.data.size(), '\0');
    }
  }
  return checkpoint;
}

TEST(ExpertGuess, IsRightWhereTheStreamStandsStill) {
  for (const BackendKind backend : {BackendKind::kCpu, BackendKind::kReference}) {
    World world(still_checkpoint(), {.backend = backend, .reading = {.hint_limits = kNoLimits}});
    for (int i = 0; i < 40; ++i) world.pass(1);
    for (uint32_t l = 2; l < 8; ++l) {
      EXPECT_EQ(world.layer(l).passes, 39u) << "all but the first, which reads the router";
      EXPECT_EQ(world.layer(l).guesses, 39u);
      EXPECT_EQ(world.layer(l).requested, 39u * 2);
      EXPECT_EQ(world.layer(l).total().found, 39u * 2) << "layer " << l;
    }
    EXPECT_EQ(world.layer(1).passes, 0u) << "no layer with experts comes before it";
  }
}

TEST(ExpertGuess, HintsWhatIsAbsent) {
  World world(still_checkpoint(), {.reading = {.hint_limits = kNoLimits}});
  for (int i = 0; i < 40; ++i) world.pass(1);
  GuessCounts sum;
  for (uint32_t l = 2; l < 8; ++l) sum += world.layer(l).total();
  EXPECT_GT(sum.hinted, 40u);
  EXPECT_LT(sum.hinted, sum.guessed) << "half of the experts are in memory";
  EXPECT_LE(sum.hinted, sum.absent);
  EXPECT_EQ(sum.hinted_found, sum.hinted) << "every guess is right here";
}

TEST(ExpertGuess, OfTheUsualLimitsWasteStaysSmall) {
  World world(small_checkpoint());  // Random weights: many guesses are wrong.
  for (int i = 0; i < 250; ++i) world.pass(1);
  const stream::StreamerCounters counters = world.counters();
  EXPECT_GT(counters.expert_bytes_missed, 0u);
  EXPECT_LE(static_cast<double>(counters.hint_bytes_read - counters.hint_bytes_used),
            0.02 * static_cast<double>(counters.expert_bytes_missed));
}

TEST(ExpertGuess, IsNotMadeWhereNothingIsToBeGained) {
  World off(small_checkpoint(), {.hints = false});
  EXPECT_EQ(off.loaded->model().guess(), nullptr);
  World all(small_checkpoint(), {.memory_bytes = uint64_t{1} << 30});
  EXPECT_EQ(all.loaded->model().guess(), nullptr) << "every expert has a slot";
  World many(small_checkpoint(), {.reading = {.hint_limits = kNoLimits}});
  many.pass(1);
  many.pass(16);
  for (uint32_t l = 0; l < 8; ++l) EXPECT_EQ(many.layer(l).passes, 0u) << "16 rows";
}

TEST(ExpertGuess, NeverReadsARouter) {
  const TestCheckpoint checkpoint = small_checkpoint();
  const TestFolder folder;
  checkpoint.write(folder.path());
  LoadOptions options{
      .threads = 1, .memory_bytes = uint64_t{1} << 30, .prefill_rows = 16, .context = 256};
  options.memory_bytes = inspect_model(folder.path(), options).plan.minimum_bytes;
  options.reading.hint_limits = kNoLimits;
  World world(checkpoint, options);
  ASSERT_EQ(world.loaded->plan().pinned_panels, 0u);
  for (int i = 0; i < 4; ++i) world.pass(1);
  for (uint32_t l = 0; l < 8; ++l) EXPECT_EQ(world.layer(l).passes, 0u);
}

/// Stops the pass once a layer is done.
class StopAfter final : public ForwardObserver {
 public:
  StopAfter(uint32_t layer, std::atomic<bool>& flag) : layer_(layer), flag_(flag) {}
  void on_tensor(uint32_t layer, Tap tap, backend::Tensor) override {
    if (tap == Tap::kPrefix && layer == layer_) flag_ = true;
  }
  void on_routes(uint32_t, const backend::Routes&) override {}

 private:
  const uint32_t layer_;
  std::atomic<bool>& flag_;
};

TEST(ExpertGuess, OfAPassThatEndedSaysNothingOfTheNextOne) {
  World world(small_checkpoint(), {.reading = {.hint_limits = kNoLimits}});
  world.pass(1);
  const SequenceState::SavedPoint point = world.state->save_point();
  std::atomic<bool> stop = false;
  StopAfter observer(3, stop);
  world.loaded->model().set_cancel_flag(&stop);
  world.loaded->model().set_observer(&observer);
  EXPECT_THROW(world.pass(1), Error);
  world.loaded->model().set_observer(nullptr);
  stop = false;
  world.state->cut(point);
  EXPECT_EQ(world.layer(4).guesses, 1u);
  world.pass(16);  // Not guessed for, so that layer 4 is requested without a guess of its own.
  EXPECT_EQ(world.layer(4).requested, 0u);
  EXPECT_EQ(world.layer(3).requested, 2u);
}

}  // namespace
}  // namespace sluice::model
