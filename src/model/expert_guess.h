#pragma once
#include "backend/backend.h"
#include "base/types.h"
#include "model/shape.h"
#include "model/weights.h"
#include "stream/hint_policy.h"
#include "stream/weight_streamer.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::model {

/// What became of guessed experts, up to the request of their layer.
struct GuessCounts {
  uint64_t guessed = 0, found = 0;        ///< `found`: of those before it, the requested ones.
  uint64_t absent = 0, absent_found = 0;  ///< Of the guessed, those not in memory.
  uint64_t hinted = 0, hinted_found = 0;  ///< Of the absent.

  GuessCounts& operator+=(const GuessCounts& other);
};

struct LayerGuesses {
  uint64_t passes = 0;             ///< In which the layer could be guessed for,
  uint64_t guesses = 0;            ///< and was.
  uint64_t requested = 0;          ///< Experts that the layer requested after a guess.
  std::vector<GuessCounts> ranks;  ///< [experts_per_token], the most probable first.

  [[nodiscard]] GuessCounts total() const;
};

/// Writes the `best.size()` experts that a router with these logits and biases chooses, the most
/// probable first; ties go to the lowest id. logits: [experts], overwritten. order: [experts],
/// scratch. What is not a number is chosen last.
void rank_experts(std::span<float> logits, std::span<const float> bias, std::span<uint32_t> order,
                  std::span<uint32_t> best);

/// Names the experts of the next layer to the streamer while those of this one are read. The stream
/// changes little from layer to layer, so the next router chooses mostly the same on the stream as
/// it is now. What is guessed decides what drives do when nothing is requested, and never a result.
/// One thread.
class ExpertGuess {
 public:
  /// `weights` and `streamer` must outlive it.
  ExpertGuess(const ModelShape& shape, const WeightMap& weights, stream::WeightStreamer& streamer,
              const stream::HintLimits& limits);

  /// Rows up to which a pass is guessed for. More of them use so many experts that drives never
  /// wait for work, and that a guess says little.
  [[nodiscard]] static uint32_t rows_max(const ModelShape& shape);
  /// Memory that one takes.
  [[nodiscard]] static uint64_t bytes(const ModelShape& shape);

  /// To be told of every layer's request, in the order of passes: learns how good the guess was.
  void requested(uint32_t layer, const backend::Routes& routes);
  /// Whether to guess for the layer, which comes next, in a pass of so many rows.
  [[nodiscard]] bool begin(uint32_t layer, uint32_t rows);
  /// [rows, experts]: to be filled with the layer's router logits.
  [[nodiscard]] std::span<float> logits(uint32_t rows);
  /// Hints what logits() says of the layer.
  void hint(uint32_t layer, uint32_t rows);

  /// By layer.
  [[nodiscard]] std::span<const LayerGuesses> statistics() const { return statistics_; }
  [[nodiscard]] const stream::HintPolicy& policy() const { return policy_; }

 private:
  struct Guess {
    uint32_t expert = 0, rank = 0;
    bool absent = false;
  };

  void choose_experts(uint32_t layer, uint32_t rows);
  [[nodiscard]] stream::HintTotals totals() const;

  const ModelShape& shape_;
  const WeightMap& weights_;
  stream::WeightStreamer& streamer_;
  stream::HintPolicy policy_;
  std::vector<float> logits_;                      // [rows_max, experts]
  std::vector<uint32_t> order_, best_;             // [experts], [rows_max, k]
  std::vector<bool> guessed_;                      // [experts]
  std::vector<Guess> guesses_;                     // In ascending rank.
  std::vector<stream::HintCandidate> candidates_;  // The absent ones of them, in that order.
  std::vector<SegmentId> hints_;
  std::optional<uint32_t> open_;  // The layer that guesses_ are of, until it is requested.
  uint64_t used_before_ = 0;
  std::vector<LayerGuesses> statistics_;
};

}  // namespace sluice::model
