#include "model/expert_guess.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sluice::model {
namespace {

// Of the experts that the rows of a pass would use if they shared none.
constexpr uint32_t kShareOfExperts = 4;
// How much faster weights come from memory than from good drives.
constexpr uint64_t kMemoryOverDrives = 5;

stream::HintPolicyOptions policy_options(const ModelShape& shape, const WeightMap& weights,
                                         const stream::HintLimits& limits) {
  const uint64_t router_bytes = uint64_t{shape.experts} * shape.hidden * 2;
  return {.layers = shape.layers,
          .ranks = shape.experts_per_token,
          .expert_bytes = weights.segment_bytes_max(format::SegmentKind::kExpert),
          .guess_bytes = router_bytes / kMemoryOverDrives,
          .limits = limits};
}

bool contains(const std::vector<uint32_t>& ascending, uint32_t value) {
  return std::ranges::binary_search(ascending, value);
}

}  // namespace

GuessCounts& GuessCounts::operator+=(const GuessCounts& other) {
  guessed += other.guessed;
  found += other.found;
  absent += other.absent;
  absent_found += other.absent_found;
  hinted += other.hinted;
  hinted_found += other.hinted_found;
  return *this;
}

GuessCounts LayerGuesses::total() const {
  GuessCounts sum;
  for (const GuessCounts& rank : ranks) sum += rank;
  return sum;
}

void rank_experts(std::span<float> logits, std::span<const float> bias, std::span<uint32_t> order,
                  std::span<uint32_t> best) {
  SLUICE_CHECK(logits.size() == bias.size() && logits.size() == order.size() &&
               best.size() <= order.size());
  for (size_t e = 0; e < logits.size(); ++e) {
    const float score = 1.0f / (1.0f + std::exp(-logits[e])) + bias[e];
    logits[e] = std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
  }
  std::iota(order.begin(), order.end(), 0u);
  const auto middle = order.begin() + static_cast<ptrdiff_t>(best.size());
  std::partial_sort(order.begin(), middle, order.end(), [&](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  std::copy(order.begin(), middle, best.begin());
}

ExpertGuess::ExpertGuess(const ModelShape& shape, const WeightMap& weights,
                         stream::WeightStreamer& streamer, const stream::HintLimits& limits)
    : shape_(shape),
      weights_(weights),
      streamer_(streamer),
      policy_(policy_options(shape, weights, limits)),
      logits_(size_t{rows_max(shape)} * shape.experts),
      order_(shape.experts),
      best_(size_t{rows_max(shape)} * shape.experts_per_token),
      guessed_(shape.experts),
      statistics_(shape.layers) {
  guesses_.reserve(best_.size());
  candidates_.reserve(best_.size());
  hints_.reserve(best_.size());
  for (LayerGuesses& layer : statistics_) layer.ranks.resize(shape.experts_per_token);
}

uint32_t ExpertGuess::rows_max(const ModelShape& shape) {
  return std::max(1u, shape.experts / (kShareOfExperts * shape.experts_per_token));
}

uint64_t ExpertGuess::bytes(const ModelShape& shape) {
  const uint64_t pairs = uint64_t{rows_max(shape)} * shape.experts_per_token;
  return uint64_t{rows_max(shape)} * shape.experts * sizeof(float) +
         shape.experts * sizeof(uint32_t) +
         pairs * (sizeof(Guess) + sizeof(stream::HintCandidate) + sizeof(SegmentId)) +
         stream::HintPolicy::memory_bytes(shape.layers, shape.experts_per_token) +
         shape.layers * (sizeof(LayerGuesses) + shape.experts_per_token * sizeof(GuessCounts));
}

stream::HintTotals ExpertGuess::totals() const {
  const stream::StreamerCounters counters = streamer_.counters();
  return {.missed = counters.expert_bytes_missed,
          .read = counters.hint_bytes_read,
          .used = counters.hint_bytes_used};
}

void ExpertGuess::requested(uint32_t layer, const backend::Routes& routes) {
  const bool guessed = open_ == layer;
  open_.reset();  // A guess for a pass that ended before its layer says nothing of the next one.
  if (!guessed) return;
  LayerGuesses& statistics = statistics_[layer];
  statistics.requested += routes.unique.size();
  auto candidate = candidates_.begin();
  for (const Guess& guess : guesses_) {
    const bool found = contains(routes.unique, guess.expert);
    GuessCounts counts{.guessed = 1, .found = found};
    if (guess.absent) {
      policy_.learn(layer, *candidate, found);
      counts.absent = 1;
      counts.absent_found = found;
      counts.hinted = candidate->hinted;
      counts.hinted_found = candidate->hinted && found;
      ++candidate;
    }
    statistics.ranks[guess.rank] += counts;
  }
  policy_.end(layer, totals().used - used_before_);
}

bool ExpertGuess::begin(uint32_t layer, uint32_t rows) {
  if (rows > rows_max(shape_)) return false;
  ++statistics_[layer].passes;
  return policy_.begin(layer);
}

std::span<float> ExpertGuess::logits(uint32_t rows) {
  return std::span(logits_).first(size_t{rows} * shape_.experts);
}

void ExpertGuess::hint(uint32_t layer, uint32_t rows) {
  choose_experts(layer, rows);
  const uint32_t first_expert = weights_.layers[layer].moe.first_expert;
  candidates_.clear();
  for (Guess& guess : guesses_) {
    guess.absent = !streamer_.holds({first_expert + guess.expert});
    if (guess.absent) candidates_.push_back({.rank = guess.rank});
  }
  const stream::HintTotals now = totals();
  policy_.choose(layer, candidates_, now);
  hints_.clear();
  auto candidate = candidates_.begin();
  for (const Guess& guess : guesses_) {
    if (guess.absent && (candidate++)->hinted) hints_.push_back({first_expert + guess.expert});
  }
  if (!hints_.empty()) streamer_.hint(hints_);
  used_before_ = now.used;
  open_ = layer;
  ++statistics_[layer].guesses;
}

// What several rows choose has the rank that it has in the row where it looks most probable.
void ExpertGuess::choose_experts(uint32_t layer, uint32_t rows) {
  const uint32_t k = shape_.experts_per_token;
  for (uint32_t r = 0; r < rows; ++r) {
    rank_experts(std::span(logits_).subspan(size_t{r} * shape_.experts, shape_.experts),
                 weights_.layers[layer].moe.router_bias, order_,
                 std::span(best_).subspan(size_t{r} * k, k));
  }
  guesses_.clear();
  std::fill(guessed_.begin(), guessed_.end(), false);
  for (uint32_t rank = 0; rank < k; ++rank) {
    for (uint32_t r = 0; r < rows; ++r) {
      const uint32_t expert = best_[size_t{r} * k + rank];
      if (guessed_[expert]) continue;
      guessed_[expert] = true;
      guesses_.push_back({.expert = expert, .rank = rank});
    }
  }
}

}  // namespace sluice::model
