#include "cli/answer_options.h"

#include <limits>

namespace sluice::cli {

void declare_answer_options(OptionList& options, AnswerSettings& settings) {
  engine::SamplingOptions& sampling = settings.sampling;
  options.group("Answer");
  options.number({"max-new", "N", "tokens to generate at most"}, settings.max_new, {0, 1u << 20});
  options.strings({"stop", "TEXT", "end the answer before this text; may be given several times"},
                  settings.stop_strings);
  options.ids({"stop-ids", "IDS", "end the answer at these tokens too, for example 1,2"},
              settings.stop_ids);
  options.flag({"ignore-eos", "", "do not end at the model's own end tokens"}, settings.ignore_eos);

  options.group("Sampling");
  options.number({"temperature", "T",
                  "0 always takes the most probable token, whatever the filters and the seed"},
                 sampling.temperature, {0.0, 100.0});
  options.number({"top-k", "K", "draw from the K most probable tokens; 0: from all"},
                 sampling.top_k, {0, std::numeric_limits<uint32_t>::max()});
  options.needs("temperature");
  options.number({"top-p", "P", "draw from the fewest tokens that hold this probability"},
                 sampling.top_p, {0.0, 1.0});
  options.needs("temperature");
  options.number({"min-p", "P", "drop tokens below this share of the best one's probability"},
                 sampling.min_p, {0.0, 1.0});
  options.needs("temperature");
  options.number({"repetition-penalty", "X", "weakens every token seen so far; 1: off"},
                 sampling.repetition_penalty, {0.01, 100.0});
  options.number({"presence-penalty", "X", "weakens tokens that the answer has; 0: off"},
                 sampling.presence_penalty, {-100.0, 100.0});
  options.number({"frequency-penalty", "X", "weakens tokens per occurrence in the answer; 0: off"},
                 sampling.frequency_penalty, {-100.0, 100.0});
  options.number({"seed", "N", "the same seed draws the same tokens, on every machine"},
                 sampling.seed, {0, std::numeric_limits<uint64_t>::max()});
  options.needs("temperature");

  options.group("Output");
  options.flag(
      {"stats", "", "print the memory table, speeds and what each drive read on standard error"},
      settings.stats);
  declare_read_trace(options, settings.read_trace_file);
  options.flag({"quiet", "", "show no progress"}, settings.quiet);
}

void declare_read_trace(OptionList& options, std::string& file) {
  options.string({"read-trace", "FILE",
                  "record every read of the drives; sluice report shows it; takes memory of the "
                  "budget"},
                 file, Completion::kFile);
}

const std::vector<std::string>& effort_names() {
  static const std::vector<std::string> names = {"low", "high", "max", "none"};
  return names;
}

void declare_effort(OptionList& options, std::string& effort) {
  options.choice({"effort", "E", "how much to think before the answer"}, effort, effort_names());
  options.describe_default("max");
}

}  // namespace sluice::cli
