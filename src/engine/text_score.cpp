#include "engine/text_score.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace sluice::engine {

double log_probability(std::span<const float> logits, TokenId token) {
  SLUICE_CHECK(token.value >= 0 && static_cast<size_t>(token.value) < logits.size());
  double largest = -std::numeric_limits<double>::infinity();
  for (size_t id = 0; id < logits.size(); ++id) {
    if (!std::isfinite(logits[id])) {
      throw Error(ErrorCode::kCorrupt,
                  "the logit of token {} is {}: the model's weights are damaged; verify the "
                  "checkpoint's SHA-256 sums",
                  id, logits[id]);
    }
    largest = std::max(largest, static_cast<double>(logits[id]));
  }
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return static_cast<double>(logits[static_cast<size_t>(token.value)]) - largest - std::log(sum);
}

std::vector<TextWindow> text_windows(uint64_t tokens, const WindowOptions& options) {
  SLUICE_CHECK(options.stride >= 1 && options.stride < options.window);
  std::vector<TextWindow> windows;
  uint64_t scored = 1;  // Nothing comes before the first token.
  for (uint64_t begin = 0; scored < tokens; begin += options.stride) {
    const uint64_t end = std::min(begin + options.window, tokens);
    windows.push_back({.begin = begin, .first_scored = scored, .end = end});
    scored = end;
  }
  return windows;
}

namespace {

double per(double amount, uint64_t count) {
  return count == 0 ? 0.0 : amount / static_cast<double>(count);
}

}  // namespace

double TextScore::mean_log_probability() const { return per(log_probability, tokens); }
double TextScore::bits_per_byte() const { return per(-log_probability / std::numbers::ln2, bytes); }
double TextScore::perplexity() const {
  return tokens == 0 ? 0.0 : std::exp(-mean_log_probability());
}
double TextScore::byte_perplexity() const { return bytes == 0 ? 0.0 : std::exp2(bits_per_byte()); }

}  // namespace sluice::engine
