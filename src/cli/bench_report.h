#pragma once
#include "cli/bench_ceilings.h"
#include "cli/machine.h"
#include "engine/bench_plan.h"
#include "engine/bench_spread.h"
#include "engine/statistics.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// What one point gave an arm in one turn, and the ceilings of that turn.
struct BenchTurn {
  engine::PhaseStats stats{};
  uint64_t weight_bytes = 0;    ///< As engine::BenchMeasurement has it.
  uint64_t peak_rss_bytes = 0;  ///< Of the arm's turn up to here; 0: unknown.
  BenchCeilings ceilings{};
};

/// One thing that every turn says.
struct BenchFigure {
  std::string_view name;  ///< In JSON.
  double (*of)(const BenchTurn&);
};
[[nodiscard]] std::span<const BenchFigure> bench_figures();

/// An arm, how its model was opened, and what it gave.
struct ArmReport {
  std::string name{}, flags{};
  uint64_t memory_bytes = 0;  ///< Planned.
  uint32_t threads = 0, prefill_rows = 0;
  std::string read_method{}, buffered_files{};
  std::vector<std::string> drives{};            ///< Folders and device of each.
  std::vector<std::vector<BenchTurn>> turns{};  ///< By point, then turn; the last may be missing.
};

struct BenchReport {
  std::string command{}, time{};
  Machine machine{};
  std::string folder{};  ///< Of the model.
  uint64_t fingerprint = 0;
  std::string prompt{};  ///< Where the text came from.
  engine::BenchSettings settings{};
  uint32_t turns = 0;  ///< That were asked for.
  std::vector<ArmReport> arms{};
  bool finished = false;
};

/// What a figure was over the turns of a point; nothing when there are none.
[[nodiscard]] std::optional<engine::Spread> figure_spread(const BenchFigure& figure,
                                                          const std::vector<BenchTurn>& turns);
/// tokens/s as parts of those of another arm in the same turns.
[[nodiscard]] std::optional<engine::Spread> speed_ratio(const std::vector<BenchTurn>& turns,
                                                        const std::vector<BenchTurn>& base);

/// "prefill of 64 tokens", "decode of 16 tokens at a context of 512".
[[nodiscard]] std::string describe(const engine::BenchPoint& point);

/// Tables for people, one for each point, and what their columns mean.
[[nodiscard]] std::string bench_text(const BenchReport& report);
/// Everything, single turns included, as one JSON object.
[[nodiscard]] std::string bench_json(const BenchReport& report);
/// Tokens/s of decoding, or of prefill where nothing is decoded, as bars.
[[nodiscard]] std::string bench_svg(const BenchReport& report);

}  // namespace sluice::cli
