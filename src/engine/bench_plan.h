#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::engine {

enum class BenchPhase : uint8_t { kPrefill, kDecode };

/// What a benchmark measures in each turn of each arm.
struct BenchSettings {
  std::vector<uint32_t> prompt_tokens{};  ///< Lengths of prompts; 0 is none.
  std::vector<uint32_t> contexts{};       ///< Tokens that a sequence holds when decoding begins.
  uint32_t tokens = 0;                    ///< To decode at each of them.
  /// The model is opened anew for each point, so that each begins with nothing in memory but what
  /// filling its context has left there.
  bool cold = false;
};

/// One measurement.
struct BenchPoint {
  BenchPhase phase = BenchPhase::kPrefill;
  uint32_t context = 0;  ///< Tokens in the sequence before the measured ones.
  uint32_t tokens = 0;   ///< Rows that are measured.
  uint32_t fill_from =
      0;  ///< Tokens that the sequence has from the point before; 0: it is cleared.
  friend bool operator==(const BenchPoint&, const BenchPoint&) = default;
};

/// Prompts first, then contexts, each in the order given.
[[nodiscard]] std::vector<BenchPoint> bench_points(const BenchSettings& settings);

/// Tokens that a sequence must have room for, the ones that are only chosen included.
[[nodiscard]] uint32_t bench_context(const BenchSettings& settings);

/// The prompt of the answer that fills the memory before a turn that is not cold: the first of
/// `prompt_tokens`, or one token. `tokens` are decoded after it.
[[nodiscard]] uint32_t warm_up_prompt(const BenchSettings& settings);

/// Rows that run in a turn of an arm, measured or not.
[[nodiscard]] uint64_t rows_of_turn(const BenchSettings& settings);

/// The order of the arms in a turn, by index: forwards and backwards in turn, so that none always
/// follows the same one and what drifts with time hits all alike.
[[nodiscard]] std::vector<size_t> arm_order(size_t arms, uint32_t turn);

}  // namespace sluice::engine
