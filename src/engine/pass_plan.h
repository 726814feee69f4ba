#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

/// How many rows each sequence would run, at most, in one pass: what is left of its prompt, or 1
/// for the token it has chosen last.
struct WaitingRows {
  uint32_t rows = 0;
  bool prompt = false;
};

/// Shares a pass of `rows_max` rows out, in the order given (of arrival). Those that answer get
/// their row first, so that a long prompt of one does not stop the others; then prompts, the
/// earliest first. Every sequence is in one of any rows_max passes at least, because answers leave
/// a row to the first prompt. Pure.
[[nodiscard]] std::vector<uint32_t> plan_pass(std::span<const WaitingRows> sequences,
                                              uint32_t rows_max);

}  // namespace sluice::engine
