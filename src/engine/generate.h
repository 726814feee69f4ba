#pragma once
#include "base/types.h"
#include "engine/generation.h"
#include "engine/statistics.h"
#include "model/loaded_model.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sluice::engine {

/// What a caller of generate() may watch. All are optional and run on the calling thread.
struct GenerateCallbacks {
  /// A token is about to be chosen from these logits, [vocab].
  std::function<void(std::span<const float>)> on_choice;
  /// A token was chosen. Returning false ends the generation with kStop.
  std::function<bool(TokenId)> on_token;
  /// Logits of rows that ran, [rows, vocab], every row in order. Needs a model that was loaded with
  /// LoadOptions::logits_of_every_row.
  std::function<void(std::span<const float>)> on_logits;
  /// The whole prompt has run; the state has not seen anything else yet.
  std::function<void()> on_prompt_done;
  /// Prompt rows done, of all.
  std::function<void(uint32_t done, uint32_t total)> on_prompt_progress;
};

struct GenerateResult {
  std::vector<TokenId> generated{};  ///< With the stop id, when one ended it.
  FinishReason reason = FinishReason::kLength;
  GenerationStats stats{};
};

/// Runs one request to its end: the prompt in chunks of as many rows as the model takes, each chunk
/// through all layers, then a token per pass. Setting `cancel` (from any thread, or a signal
/// handler) ends it between two layers with what was generated so far and kCancelled; the state
/// must then be cleared before use. Throws Error as Generation and Model::forward do.
[[nodiscard]] GenerateResult generate(model::LoadedModel& loaded, model::SequenceState& state,
                                      GenerateRequest request, const GenerateCallbacks& callbacks,
                                      const std::atomic<bool>& cancel);

}  // namespace sluice::engine
