#pragma once
#include "base/types.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::engine {

/// The natural logarithm of the probability of `token` after these logits, [vocab]. Summed in
/// double precision in the order of the ids. Throws Error(kCorrupt) when a logit is not finite.
[[nodiscard]] double log_probability(std::span<const float> logits, TokenId token);

/// How a text is cut for scoring.
struct WindowOptions {
  uint64_t window = 512;  ///< Tokens of one window, at least 2.
  uint64_t stride = 256;  ///< Tokens from one window to the next: 1 to window - 1.
};

/// Tokens [begin, end) of a text, which run together from an empty state; those from first_scored
/// on count.
struct TextWindow {
  uint64_t begin = 0, first_scored = 0, end = 0;
  friend bool operator==(const TextWindow&, const TextWindow&) = default;
};

/// Windows in which every token but the first of the text is scored exactly once, each with as much
/// context as a window that starts every `stride` tokens can give: at least window - stride tokens,
/// except in the first window.
[[nodiscard]] std::vector<TextWindow> text_windows(uint64_t tokens, const WindowOptions& options);

/// What a text has cost so far. All figures are 0 for no tokens.
struct TextScore {
  uint64_t tokens = 0, bytes = 0;
  double log_probability = 0.0;  ///< Natural logarithm, of all tokens together.

  [[nodiscard]] double mean_log_probability() const;  ///< Of a token.
  [[nodiscard]] double bits_per_byte() const;
  [[nodiscard]] double perplexity() const;  ///< Of a token.
  [[nodiscard]] double byte_perplexity() const;
};

}  // namespace sluice::engine
