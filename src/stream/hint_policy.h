#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::stream {

/// How much a guess may cost. The defaults are for all but tests and measurements.
struct HintLimits {
  /// Bytes read for hints that no request asked for, of the bytes that requests missed.
  double waste_max = 0.02;
  /// A guess that is right less often is not hinted.
  double probability_min = 0.5;
  /// A layer whose guesses do not pay is guessed for once in this many passes, to see whether they
  /// would now.
  uint32_t probe_every = 16;
};

struct HintPolicyOptions {
  uint32_t layers = 0;
  uint32_t ranks = 0;         ///< Guesses for one layer, told apart by how probable they looked.
  uint64_t expert_bytes = 0;  ///< That a hint reads.
  uint64_t guess_bytes = 0;   ///< That could be read in the time which guessing for a layer takes.
  HintLimits limits{};
};

/// Bytes of experts, from the start on.
struct HintTotals {
  uint64_t missed = 0;  ///< Requested when no request had brought them in before.
  uint64_t read = 0;    ///< For hints, before a request asked for them.
  uint64_t used = 0;    ///< Of `read`, those that a request has asked for.
};

/// A guessed expert that is not in memory.
struct HintCandidate {
  uint32_t rank = 0;    ///< 0: it looked more probable than all others.
  bool hinted = false;  ///< Set by choose().
};

/// Which guesses become hints, and for which layers guessing pays at all.
///
/// It learns for each layer and rank how often a guess that was absent is right. Waste is bounded
/// by an account: what requests miss pays in, what is read for hints is paid out, and comes back
/// when a request asks for it. A hint is made only when the account could bear its whole loss, and
/// the less probable it is the more must be there. So the best guesses are made first, and the
/// others as far as requests leave room.
///
/// A layer whose hints spare fewer bytes than a guess costs is switched off, but for probes.
///
/// A pure function of the calls; allocates only when it is made. One thread.
class HintPolicy {
 public:
  explicit HintPolicy(const HintPolicyOptions& options);

  /// To be asked in each pass in which the layer could be guessed for: whether it should be.
  [[nodiscard]] bool begin(uint32_t layer);
  /// Decides on the candidates of a guess, in ascending rank.
  void choose(uint32_t layer, std::span<HintCandidate> candidates, const HintTotals& totals);
  /// What became of a candidate when the layer's request came.
  void learn(uint32_t layer, const HintCandidate& candidate, bool requested);
  /// Ends a guess, after learn() for all candidates. `spared`: bytes that hints had read when the
  /// layer's request asked for them.
  void end(uint32_t layer, uint64_t spared);

  /// How probable it is that an absent expert of that rank is requested.
  [[nodiscard]] double probability(uint32_t layer, uint32_t rank) const {
    return cell(layer, rank).probability;
  }
  [[nodiscard]] bool pays(uint32_t layer) const;
  /// Bytes that the next hints may waste.
  [[nodiscard]] double credit() const { return credit_; }
  [[nodiscard]] static uint64_t memory_bytes(uint32_t layers, uint32_t ranks);

 private:
  struct Cell {
    double probability = 0;
    double weight = 0;  // Outcomes that it stands for.
  };
  struct Layer {
    double spared = 0;  // Bytes, mean of the last guesses.
    uint32_t passes_off = 0;
  };

  [[nodiscard]] const Cell& cell(uint32_t layer, uint32_t rank) const {
    return cells_[size_t{layer} * options_.ranks + rank];
  }
  void account(const HintTotals& totals);

  const HintPolicyOptions options_;
  std::vector<Cell> cells_;  // [layers, ranks]
  std::vector<Layer> layers_;
  HintTotals totals_;
  double credit_ = 0;
};

}  // namespace sluice::stream
