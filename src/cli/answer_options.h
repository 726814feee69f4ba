#pragma once
#include "base/types.h"
#include "cli/options.h"
#include "engine/sampler.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cli {

/// The options of every command that generates text.
struct AnswerSettings {
  uint32_t max_new = 512;
  engine::SamplingOptions sampling;
  std::vector<std::string> stop_strings;
  std::vector<TokenId> stop_ids;
  bool ignore_eos = false;
  bool stats = false, quiet = false;
  std::string read_trace_file;
};

void declare_answer_options(OptionList& options, AnswerSettings& settings);

/// Declares --read-trace.
void declare_read_trace(OptionList& options, std::string& file);

/// Declares --effort. "none" turns thinking off.
void declare_effort(OptionList& options, std::string& effort);
[[nodiscard]] const std::vector<std::string>& effort_names();

}  // namespace sluice::cli
