#include "base/error.h"
#include "cli/eval.h"
#include "cli/files.h"
#include "engine/text_score.h"
#include "text/utf8.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

/// A text as tokens, cut into windows.
struct TextTask {
  std::vector<TokenId> tokens;
  engine::WindowOptions options;
  std::vector<engine::TextWindow> windows;
  EvalIdentity identity;
};

TextTask read_task(const EvalSettings& settings, const text::Tokenizer& tokenizer) {
  const std::string text = read_text("--text", settings.text_file);
  if (const size_t bad = text::find_invalid_utf8(text); bad != std::string::npos) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: byte {} is not UTF-8; convert the file, for example with iconv",
                settings.text_file, bad);
  }
  TextTask task;
  task.tokens = tokenizer.encode(text);
  if (task.tokens.empty()) {
    throw Error(ErrorCode::kInvalidInput, "{}: the text is empty", settings.text_file);
  }
  task.identity = input_identity("a text", text);
  if (settings.limit_tokens != 0 && settings.limit_tokens < task.tokens.size()) {
    task.tokens.resize(settings.limit_tokens);
  }
  if (settings.window != 0) task.options.window = settings.window;
  task.options.stride = settings.stride != 0 ? settings.stride : task.options.window / 2;
  if (task.options.stride >= task.options.window) {
    throw Error(ErrorCode::kInvalidInput,
                "--stride is {}; it must be below --window, which is {}, so that every token has "
                "one before it",
                task.options.stride, task.options.window);
  }
  task.windows = engine::text_windows(task.tokens.size(), task.options);
  task.identity.emplace_back("--window", fmt::format("{}", task.options.window));
  task.identity.emplace_back("--stride", fmt::format("{}", task.options.stride));
  task.identity.emplace_back("the number of tokens", fmt::format("{}", task.tokens.size()));
  return task;
}

/// The last token of a window need not run: what follows it is not of the window.
uint64_t rows_of(const engine::TextWindow& window) { return window.end - window.begin - 1; }

EvalNeeds needs_of(const EvalSettings& settings, const TextTask& task) {
  uint64_t rows = 1;
  for (const engine::TextWindow& window : task.windows) rows = std::max(rows, rows_of(window));
  EvalNeeds needs{load_options(settings.model), static_cast<uint32_t>(rows), task.identity,
                  digest_of_tokens(0, task.tokens),
                  task.tokens.capacity() * sizeof(TokenId) +
                      task.windows.capacity() * sizeof(engine::TextWindow)};
  needs.loading.logits_of_every_row = true;
  return needs;
}

class TextEvaluation final : public Evaluation {
 public:
  TextEvaluation(const EvalSettings& settings, const text::Tokenizer& tokenizer)
      : settings_(settings),
        tokenizer_(tokenizer),
        task_(read_task(settings, tokenizer)),
        run_(settings, tokenizer, needs_of(settings, task_)) {
    const uint64_t done = run_.state().done;
    if (done > task_.windows.size()) {
      throw Error(ErrorCode::kCorrupt, "{}: has more windows than the text; remove it",
                  settings.progress_file);
    }
    score_.log_probability = done == 0 ? -std::log(static_cast<double>(run_.loaded().shape().vocab))
                                       : run_.state().log_probability;
    count_to(done == 0 ? 1 : task_.windows[done - 1].end);
    for (size_t i = done; i < task_.windows.size(); ++i) rows_left_ += rows_of(task_.windows[i]);
  }

 private:
  [[nodiscard]] bool step() override;
  void end() override { run_.end(); }
  void count_to(uint64_t end);
  [[nodiscard]] bool finished() const override { return run_.state().done == task_.windows.size(); }
  [[nodiscard]] std::string progress_text() override;
  [[nodiscard]] double progress_share() const override;
  [[nodiscard]] std::string report() const override;
  [[nodiscard]] std::string json() const override;

  const EvalSettings& settings_;
  const text::Tokenizer& tokenizer_;
  const TextTask task_;
  EvalRun run_;
  engine::TextScore score_;
  uint64_t rows_left_ = 0;  // When this run began.
  // For the display's thread.
  std::atomic<uint64_t> windows_done_{0}, rows_done_{0}, window_rows_done_{0};
  std::atomic<double> bits_per_byte_{0.0};
};

/// The tokens up to `end` are scored.
void TextEvaluation::count_to(uint64_t end) {
  for (; score_.tokens < end; ++score_.tokens) {
    score_.bytes += tokenizer_.bytes(task_.tokens[score_.tokens]).size();
  }
  windows_done_ = run_.state().done;
  bits_per_byte_ = score_.bits_per_byte();
}

bool TextEvaluation::step() {
  const engine::TextWindow& window = task_.windows[run_.state().done];
  const auto first = task_.tokens.begin() + static_cast<ptrdiff_t>(window.begin);
  engine::GenerateRequest request;
  request.prompt.assign(first, first + static_cast<ptrdiff_t>(rows_of(window)));
  double log_probability = score_.log_probability;
  uint64_t next = window.begin + 1;  // The token that the next row of logits is about.
  const size_t vocab = run_.loaded().shape().vocab;
  engine::GenerateCallbacks callbacks;
  callbacks.on_logits = [&](std::span<const float> rows) {
    for (; !rows.empty(); rows = rows.subspan(vocab), ++next) {
      if (next < window.first_scored) continue;
      log_probability += engine::log_probability(rows.first(vocab), task_.tokens[next]);
    }
  };
  callbacks.on_prompt_progress = [&](uint32_t done, uint32_t) { window_rows_done_ = done; };
  const engine::GenerateResult result = engine::generate(
      run_.loaded(), run_.begin_sequence(), std::move(request), callbacks, run_.cancel());
  window_rows_done_ = 0;
  if (result.reason == engine::FinishReason::kCancelled) return false;
  score_.log_probability = log_probability;
  run_.finish_window(result.stats, log_probability);
  rows_done_ += rows_of(window);
  count_to(window.end);
  return true;
}

std::string TextEvaluation::progress_text() {
  const model::Model& model = run_.loaded().model();
  return fmt::format("window {} of {}, layer {} of {}, {:.4f} bits per byte so far",
                     windows_done_ + 1, task_.windows.size(), model.layers_done(),
                     model.shape().layers, bits_per_byte_.load());
}

double TextEvaluation::progress_share() const {
  return static_cast<double>(rows_done_ + window_rows_done_) / static_cast<double>(rows_left_);
}

std::string TextEvaluation::report() const {
  std::string out;
  if (!finished()) {
    out = fmt::format("stopped after window {} of {}; these figures are of the text up to there\n",
                      run_.state().done, task_.windows.size());
  }
  const auto line = [&out](const char* name, const std::string& value) {
    out += fmt::format("{:<24}{:>16}\n", name, value);
  };
  line("bytes", fmt::format("{}", score_.bytes));
  line("tokens", fmt::format("{}", score_.tokens));
  line("bits per byte", fmt::format("{:.6f}", score_.bits_per_byte()));
  line("perplexity of a token", fmt::format("{:.6f}", score_.perplexity()));
  line("perplexity of a byte", fmt::format("{:.6f}", score_.byte_perplexity()));
  line("mean log probability", fmt::format("{:.6f}", score_.mean_log_probability()));
  line("tokens/s", fmt::format("{:.2f}", rows_per_second(run_.state())));
  return out;
}

std::string TextEvaluation::json() const {
  const nlohmann::ordered_json report = {{"finished", finished()},
                                         {"bytes", score_.bytes},
                                         {"tokens", score_.tokens},
                                         {"bits_per_byte", score_.bits_per_byte()},
                                         {"perplexity", score_.perplexity()},
                                         {"byte_perplexity", score_.byte_perplexity()},
                                         {"mean_log_probability", score_.mean_log_probability()},
                                         {"window", task_.options.window},
                                         {"stride", task_.options.stride},
                                         {"windows", run_.state().done},
                                         {"rows", run_.state().rows},
                                         {"seconds", run_.state().seconds},
                                         {"tokens_per_second", rows_per_second(run_.state())}};
  return report.dump() + "\n";
}

}  // namespace

int eval_text(const EvalSettings& settings, const text::Tokenizer& tokenizer) {
  return TextEvaluation(settings, tokenizer).run(settings);
}

}  // namespace sluice::cli
