#pragma once
#include "simulator/simulation.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// Some drives, and what runs on them gave, one of each seed.
struct SimulatedCase {
  std::string name;
  std::vector<simulator::SimulatedDrive> drives;
  std::vector<simulator::SimulationResult> results;
};

/// What all cases have in common.
struct SimulatedSetting {
  std::string model, routes;  ///< In words.
  uint64_t memory_bytes = 0;
  uint32_t prompt_tokens = 0, tokens = 0;
  simulator::ComputeRates computing{};
  std::string computing_source;
  std::vector<std::string> assumptions{};  ///< Sentences.
};

/// Figures of a case: those of the seed whose speed is the middle one.
struct SimulatedFigures {
  double tokens_per_second = 0, least = 0, most = 0;
  double first_token_seconds = 0;
  double bytes_per_token = 0, hit_share = 0;
  double waiting_ms = 0, computing_ms = 0;  ///< Of a token.
  double hint_recall = 0, hint_waste = 0;
  std::vector<double> busy{};                   ///< By drive, shares.
  std::vector<double> drive_bytes_per_token{};  ///< By drive.
  /// Tokens a second if nothing but the drives, or the processor, took time; and if both worked all
  /// the time, side by side.
  double drives_alone = 0, computing_alone = 0, overlapped = 0;
};
[[nodiscard]] SimulatedFigures figures(const SimulatedCase& of);

/// "drives", "computing" or "both".
[[nodiscard]] std::string limit_of(const SimulatedFigures& figures);

[[nodiscard]] std::string simulation_text(const SimulatedSetting& setting,
                                          std::span<const SimulatedCase> cases);
[[nodiscard]] std::string simulation_json(const SimulatedSetting& setting,
                                          std::span<const SimulatedCase> cases);
[[nodiscard]] std::string simulation_svg(const SimulatedSetting& setting,
                                         std::span<const SimulatedCase> cases);

}  // namespace sluice::cli
