#pragma once
#include "cli/eval_progress.h"
#include "cli/model_options.h"
#include "cli/read_recorder.h"
#include "cli/route_recorder.h"
#include "cli/terminal.h"
#include "engine/generate.h"
#include "format/append_file.h"
#include "model/loaded_model.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

struct EvalSettings {
  ModelSettings model;
  std::string text_file, questions_file;  ///< One of the two.
  uint32_t window = 0, stride = 0;        ///< Of texts; 0: the default.
  uint64_t limit_tokens = 0;              ///< Of texts; 0: all.
  bool raw = false;                       ///< From here on of questions.
  std::string effort;                     ///< Empty: the default.
  std::optional<std::string> system;
  uint32_t max_new = 0;  ///< 0: the default.
  std::vector<std::string> stop_strings;
  uint64_t limit = 0;  ///< 0: all.
  std::string output_file;
  std::string progress_file, routes_file, read_trace_file;  ///< Of both.
  bool json = false, quiet = false;
};

/// What one evaluation needs to run.
struct EvalNeeds {
  model::LoadOptions loading;
  uint32_t context = 0;        ///< Tokens of its longest sequence.
  EvalIdentity identity;       ///< Of the input and the options that are particular to it.
  uint64_t tokens_digest = 0;  ///< Of all that will run as a prompt.
  uint64_t held_bytes = 0;     ///< Memory that the input takes.
};

/// The model, the files and the state of an evaluation under way: what both kinds share.
class EvalRun {
 public:
  /// Opens everything, and goes on where the progress file ends. Throws Error.
  EvalRun(const EvalSettings& settings, const text::Tokenizer& tokenizer, EvalNeeds needs);

  [[nodiscard]] model::LoadedModel& loaded() { return loaded_; }
  [[nodiscard]] const EvalState& state() const { return progress_state_; }
  /// An empty sequence for window or question number state().done.
  [[nodiscard]] model::SequenceState& begin_sequence();
  /// What the prompt's end means to the trace.
  void begin_answer();
  [[nodiscard]] const std::atomic<bool>& cancel() const { return interrupt_.flag(); }
  /// The window that began last is done. `log_probability` is that of the text up to here.
  void finish_window(const engine::GenerationStats& stats, double log_probability);
  /// The question that began last is answered. `line` is for --output.
  void finish_question(const engine::GenerationStats& stats, bool correct, const std::string& line);
  /// Nothing more will run. Throws Error.
  void end();

 private:
  void finish(const engine::GenerationStats& stats);

  ReadBuffer read_buffer_;
  model::LoadedModel loaded_;
  const std::unique_ptr<model::SequenceState> sequence_;
  const EvalProgressFile progress_file_;
  EvalState progress_state_;
  std::optional<ReadRecorder> reads_;
  std::optional<RouteRecorder> routes_;
  std::optional<format::AppendFile> output_;
  const InterruptGuard interrupt_;
};

/// One kind of evaluation: its steps, each counted when it is whole, and what it says of them.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  /// Runs what is left, with progress, and prints the figures. Returns the exit code. Throws Error.
  [[nodiscard]] int run(const EvalSettings& settings);

 private:
  [[nodiscard]] virtual bool finished() const = 0;
  /// The next window or question. False when it was cancelled; then nothing has been counted.
  [[nodiscard]] virtual bool step() = 0;
  /// After the last step.
  virtual void end() = 0;
  [[nodiscard]] virtual std::string progress_text() = 0;
  [[nodiscard]] virtual double progress_share() const = 0;
  [[nodiscard]] virtual std::string report() const = 0;
  [[nodiscard]] virtual std::string json() const = 0;
};

/// The identity of what is evaluated: a file and what is done with it.
[[nodiscard]] EvalIdentity input_identity(std::string_view mode, std::string_view file);
[[nodiscard]] uint64_t digest_of_tokens(uint64_t digest, std::span<const TokenId> tokens);
/// Rows that ran in a second.
[[nodiscard]] double rows_per_second(const EvalState& state);

/// Each returns the exit code. Throws Error.
[[nodiscard]] int eval_text(const EvalSettings& settings, const text::Tokenizer& tokenizer);
[[nodiscard]] int eval_questions(const EvalSettings& settings, const text::Tokenizer& tokenizer);

}  // namespace sluice::cli
