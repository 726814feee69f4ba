#pragma once
#include "base/types.h"
#include "cli/answer_options.h"
#include "cli/answer_stream.h"
#include "cli/terminal.h"
#include "engine/generate.h"
#include "model/loaded_model.h"
#include "text/tokenizer.h"

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// A prompt to answer, and what to do on the way.
struct AnswerTask {
  std::vector<TokenId> earlier;  ///< What the sequence already holds, as far as it is known.
  std::vector<TokenId> prompt;
  bool run_last = false;                       ///< As engine::GenerateRequest has it.
  AnswerStream* stream = nullptr;              ///< Receives the tokens; null without a tokenizer.
  const text::Tokenizer* tokenizer = nullptr;  ///< Null when the folder has none.
  engine::GenerateCallbacks callbacks;         ///< on_prompt_progress is set anew.
};

/// Generates one answer with progress on standard error. Setting `cancel` ends it early.
[[nodiscard]] engine::GenerateResult answer(model::LoadedModel& loaded, model::SequenceState& state,
                                            const AnswerSettings& settings, AnswerTask task,
                                            const std::atomic<bool>& cancel);

/// Opens a model, and prints the memory table where it is wanted: with --stats, or on a terminal.
[[nodiscard]] model::LoadedModel open_model(const std::string& folder,
                                            const model::LoadOptions& options,
                                            const AnswerSettings& settings);

/// Shows an answer through `write`, on standard output as a rule, and reasoning, dimmed on a
/// terminal, on standard error.
[[nodiscard]] AnswerStream::Show show_on_terminal(
    std::function<void(std::string_view)> write = write_output);

}  // namespace sluice::cli
