#pragma once
#include "base/types.h"

#include <cstdint>
#include <span>

namespace sluice::engine {

/// How the next token is chosen from logits. The defaults choose the largest logit.
struct SamplingOptions {
  double temperature = 0.0;  ///< 0: greedy; the filters and the seed then play no part.
  uint32_t top_k = 0;        ///< Keep the k most probable tokens; 0: all.
  double top_p = 1.0;        ///< Keep the fewest tokens that hold this probability.
  double min_p = 0.0;        ///< Drop tokens below this share of the best one's probability.
  double repetition_penalty =
      1.0;                         ///< Divides positive, multiplies negative logits of seen tokens.
  double presence_penalty = 0.0;   ///< Subtracted once from tokens that the answer already has.
  double frequency_penalty = 0.0;  ///< Subtracted per occurrence in the answer.
  uint64_t seed = 0;
};

/// Throws Error(kInvalidInput) that names the option that is out of range.
void check_sampling(const SamplingOptions& options);

/// Makes the logits of tokens whose bit is not set minus infinity; an empty mask allows all.
void apply_mask(std::span<const uint64_t> allowed, std::span<float> logits);

/// The tokens that penalties look at.
struct History {
  std::span<const TokenId> prompt;     ///< Counts for the repetition penalty only.
  std::span<const TokenId> generated;  ///< Counts for all three.
};

/// The token that follows. logits: [vocab]. Ties go to the lowest id.
///
/// Order of work: penalties, temperature, min-p, top-k, top-p, one draw. The result depends on the
/// arguments alone: `position` (the index that the token will have in its sequence) and the seed
/// give the random number, so a restored or interleaved sequence draws what it would have drawn
/// anyway. It is also the same on every platform, since exp() is computed here from basic
/// operations and the C library's is not used.
///
/// Throws Error(kCorrupt) when a logit is not a number or none is finite, because no honest choice
/// exists.
[[nodiscard]] TokenId sample(std::span<const float> logits, const SamplingOptions& options,
                             const History& history, uint64_t position);

}  // namespace sluice::engine
