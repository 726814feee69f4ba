#pragma once
#include "base/types.h"
#include "cli/options.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// Where the text that a benchmark runs comes from; all empty: it is built in.
struct BenchPromptSettings {
  std::optional<std::string> text, file;
  std::vector<TokenId> ids;
};

/// Declares --prompt, --prompt-file and --prompt-ids.
void declare_bench_prompt(OptionList& options, BenchPromptSettings& settings);

struct BenchPrompt {
  std::string source;  ///< In words.
  std::vector<TokenId> tokens;
};

/// Which of the three was given, read and encoded; without any, a text that is built in, or, for a
/// model without a tokenizer, a fixed sequence of ids that has no meaning. `folder` and `vocab`: of
/// the model. Throws Error that names the option.
[[nodiscard]] BenchPrompt bench_prompt(const BenchPromptSettings& settings,
                                       const std::string& folder, uint32_t vocab);

}  // namespace sluice::cli
