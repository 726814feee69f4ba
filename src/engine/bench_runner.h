#pragma once
#include "base/types.h"
#include "engine/bench_oracle.h"
#include "engine/bench_plan.h"
#include "engine/generation.h"
#include "engine/statistics.h"
#include "model/loaded_model.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice::engine {

/// What one point gave in one turn.
struct BenchMeasurement {
  PhaseStats stats{};
  /// Weights that the passes took from memory: the spine once a pass, an expert once in each pass
  /// that used it.
  uint64_t weight_bytes = 0;
  BenchAnswer answer{};
};

/// What the caller of a BenchRunner lends it; all of it must outlive the runner.
struct BenchInput {
  std::span<const TokenId> text;    ///< Token i of a sequence is text[i % size] until it answers.
  const std::atomic<bool>& cancel;  ///< As generate() has it.
  std::function<void(uint32_t rows)> on_rows{};  ///< So many more rows have run; may be empty.
};

/// Measures the points of one turn on an open model, always greedily and past end tokens.
class BenchRunner {
 public:
  /// The model must have room for bench_context() tokens.
  BenchRunner(model::LoadedModel& loaded, const BenchInput& input);

  /// An answer that nobody measures, which leaves weights in memory. False when it was cancelled.
  [[nodiscard]] bool warm_up(const BenchSettings& settings);
  /// Points must come in the order of bench_points(), for cold ones each to a runner of its own.
  /// Nothing when it was cancelled: the runner has then come to its end. Throws Error as generate()
  /// does.
  [[nodiscard]] std::optional<BenchMeasurement> measure(const BenchPoint& point);

 private:
  [[nodiscard]] std::vector<TokenId> text_between(uint32_t begin, uint32_t end) const;
  [[nodiscard]] std::optional<BenchMeasurement> run(std::vector<TokenId> prompt, uint32_t max_new);
  [[nodiscard]] uint64_t weight_bytes(const PhaseStats& stats) const;

  model::LoadedModel& loaded_;
  const BenchInput& input_;
  const std::unique_ptr<model::SequenceState> state_;
  uint64_t spine_bytes_ = 0, expert_bytes_ = 0;  // Of all panels, and of one expert.
};

}  // namespace sluice::engine
