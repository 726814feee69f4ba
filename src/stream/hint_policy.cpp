#include "stream/hint_policy.h"

#include "base/check.h"

#include <algorithm>

namespace sluice::stream {
namespace {

// Before anything is known a guess is as likely right as wrong, and few outcomes change that.
constexpr double kFirstProbability = 0.5, kFirstWeight = 2;
// Outcomes that a probability remembers: it must tell 0.9 from 0.8, and follow a change of subject.
constexpr double kWeightMax = 64;
// Guesses that the mean of the spared bytes remembers.
constexpr double kGuesses = 16;
// A layer that has not begun is given the benefit of the doubt for some guesses, in which its
// probabilities are learnt.
constexpr double kFirstSpared = 8;
// The account must hold this many times what a hint wastes on average, so that in the long run the
// probable guesses find it full and the improbable ones empty.
constexpr double kReserve = 8;

}  // namespace

HintPolicy::HintPolicy(const HintPolicyOptions& options)
    : options_(options),
      cells_(size_t{options.layers} * options.ranks, {kFirstProbability, kFirstWeight}),
      layers_(options.layers,
              {kFirstSpared * static_cast<double>(options.guess_bytes), /*passes_off=*/0}) {
  SLUICE_CHECK(options.limits.probe_every > 0);
}

uint64_t HintPolicy::memory_bytes(uint32_t layers, uint32_t ranks) {
  return layers * (sizeof(Layer) + uint64_t{ranks} * sizeof(Cell));
}

bool HintPolicy::pays(uint32_t layer) const {
  return layers_[layer].spared >= static_cast<double>(options_.guess_bytes);
}

bool HintPolicy::begin(uint32_t layer) {
  if (pays(layer)) return true;
  uint32_t& passes = layers_[layer].passes_off;
  if (++passes < options_.limits.probe_every) return false;
  passes = 0;
  return true;
}

// What is saved up is bounded by one layer's worth: a long prompt, which misses much and is not
// guessed for, must not pay for a token that wastes much.
void HintPolicy::account(const HintTotals& totals) {
  const auto growth = [](uint64_t now, uint64_t before) {
    return static_cast<double>(now - before);
  };
  credit_ += options_.limits.waste_max * growth(totals.missed, totals_.missed) +
             growth(totals.used, totals_.used) - growth(totals.read, totals_.read);
  credit_ = std::min(credit_, static_cast<double>(options_.ranks * options_.expert_bytes));
  totals_ = totals;
}

void HintPolicy::choose(uint32_t layer, std::span<HintCandidate> candidates,
                        const HintTotals& totals) {
  account(totals);
  const auto bytes = static_cast<double>(options_.expert_bytes);
  double left = credit_;
  for (HintCandidate& candidate : candidates) {
    const double p = probability(layer, candidate.rank);
    candidate.hinted =
        p >= options_.limits.probability_min && left >= bytes && left >= kReserve * (1 - p) * bytes;
    if (candidate.hinted) left -= bytes;
  }
}

void HintPolicy::learn(uint32_t layer, const HintCandidate& candidate, bool requested) {
  Cell& c = cells_[size_t{layer} * options_.ranks + candidate.rank];
  c.weight = std::min(c.weight + 1, kWeightMax);
  c.probability += ((requested ? 1.0 : 0.0) - c.probability) / c.weight;
}

void HintPolicy::end(uint32_t layer, uint64_t spared) {
  double& mean = layers_[layer].spared;
  mean += (static_cast<double>(spared) - mean) / kGuesses;
}

}  // namespace sluice::stream
