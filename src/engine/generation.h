#pragma once
#include "base/types.h"
#include "engine/sampler.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::engine {

enum class FinishReason : uint8_t {
  kStop,       ///< A stop id, or the caller's own reason (a stop string).
  kLength,     ///< max_new tokens were generated.
  kContext,    ///< The sequence is full.
  kCancelled,  ///< The cancel flag was set.
};
[[nodiscard]] std::string_view finish_reason_name(FinishReason reason);  ///< "stop", "length", ...

struct GenerateRequest {
  /// Tokens that the sequence already holds, for the repetition penalty.
  std::vector<TokenId> earlier{};
  std::vector<TokenId> prompt;  ///< Tokens to append to the sequence; at least one.
  uint32_t max_new = 0;         ///< 0: only runs the prompt.
  SamplingOptions sampling{};
  std::vector<TokenId> stop_ids{};
  /// Runs the last generated token too, so that the state holds all of them and its logits exist.
  bool run_last = false;
};

/// One request under way: says which tokens run next and takes the logits that come of them. Knows
/// nothing of models, so whoever forms the batches may interleave several.
class Generation {
 public:
  /// The sequence holds `length` tokens and has room for `context`. Throws Error(kInvalidInput)
  /// when the prompt is empty or does not fit, or a sampling option is out of range.
  Generation(GenerateRequest request, uint32_t length, uint32_t context);

  /// The tokens to run in the next pass, at most `rows_max`. Empty when there is nothing left to
  /// run.
  [[nodiscard]] std::span<const TokenId> next_rows(uint32_t rows_max) const;
  /// True when advance() needs the logits that follow the last of `rows` rows.
  [[nodiscard]] bool wants_logits(uint32_t rows) const;
  /// Whether another pass will follow the one over `rows` rows, as far as can be told before it.
  [[nodiscard]] bool expects_more_after(uint32_t rows) const {
    return run_ + rows < tokens_.size() || generated().size() + 1 < request_.max_new;
  }
  /// `rows` of next_rows() have run. last_logits: [vocab], of the last row; may be empty unless
  /// wants_logits(rows). Returns the token that this chose, if any.
  std::optional<TokenId> advance(uint32_t rows, std::span<const float> last_logits);
  /// Ends it now, for a reason that only the caller can see.
  void finish(FinishReason reason);

  [[nodiscard]] bool in_prompt() const { return run_ < request_.prompt.size(); }
  [[nodiscard]] uint32_t prompt_rows() const {
    return static_cast<uint32_t>(request_.prompt.size());
  }
  [[nodiscard]] uint32_t prompt_rows_run() const;
  [[nodiscard]] std::span<const TokenId> generated() const;
  [[nodiscard]] FinishReason reason() const {
    return reason_;
  }  ///< Has a meaning once it has ended.

 private:
  void choose(std::span<const float> logits);

  GenerateRequest request_;
  std::vector<TokenId> tokens_;  // The prompt, then what was generated.
  std::vector<TokenId> seen_;    // Earlier tokens, then the prompt.
  size_t run_ = 0;               // How many of tokens_ have run.
  uint32_t first_position_;      // Of tokens_[0] in the sequence.
  uint32_t context_;
  bool chosen_all_ = false;
  FinishReason reason_ = FinishReason::kLength;
};

}  // namespace sluice::engine
