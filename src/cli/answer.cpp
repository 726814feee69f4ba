#include "cli/answer.h"

#include "cli/chat_prompt.h"
#include "cli/progress.h"
#include "cli/terminal.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// The display of an answer under way: first the prompt, by tokens and layers, then the answer.
class AnswerProgress {
 public:
  AnswerProgress(const model::Model& model, uint32_t prompt_rows, uint32_t max_new, bool quiet)
      : model_(model), prompt_rows_(prompt_rows), max_new_(max_new), quiet_(quiet) {
    line_.emplace(
        Progress::Source{[this] { return prompt_text(); }, [this] { return prompt_share(); }},
        quiet);
  }

  void prompt_rows_done(uint32_t rows) { rows_done_ = rows; }

  /// The prompt is done. Text that streams to a terminal, and reasoning on standard error, are
  /// their own progress, and a line would disturb them.
  void start_answer(bool shows_reasoning) {
    line_.reset();
    if (stdout_is_terminal() || shows_reasoning) return;
    line_.emplace(Progress::Source{[this] {
                                     return fmt::format("answer: {} of at most {} tokens",
                                                        generated_.load(), max_new_);
                                   },
                                   [this] { return 1.0 * generated_ / std::max(1u, max_new_); }},
                  quiet_);
  }
  void count_token() { ++generated_; }
  void stop() { line_.reset(); }

 private:
  [[nodiscard]] double layers_share() const {
    return 1.0 * model_.layers_done() / std::max(1u, model_.shape().layers);
  }
  [[nodiscard]] std::string prompt_text() const {
    return fmt::format("prompt: {} of {} tokens, layer {} of {}", rows_done_.load(), prompt_rows_,
                       model_.layers_done(), model_.shape().layers);
  }
  [[nodiscard]] double prompt_share() const {
    const uint32_t done = rows_done_;
    const uint32_t chunk = std::min(model_.options().rows_max, prompt_rows_ - done);
    return (done + chunk * layers_share()) / prompt_rows_;
  }

  const model::Model& model_;
  const uint32_t prompt_rows_, max_new_;
  const bool quiet_;
  std::atomic<uint32_t> rows_done_{0}, generated_{0};
  std::optional<Progress>
      line_;  // Its thread reads what stands above, so it must be the last member.
};

std::vector<TokenId> stop_ids(const AnswerSettings& settings, const model::ModelShape& shape,
                              const text::Tokenizer* tokenizer) {
  std::vector<TokenId> ids = settings.stop_ids;
  if (settings.ignore_eos) return ids;
  if (shape.eos >= 0) ids.push_back(TokenId{shape.eos});
  if (tokenizer != nullptr) {
    std::ranges::copy(tokenizer->special().ends(), std::back_inserter(ids));
  }
  return ids;
}

}  // namespace

engine::GenerateResult answer(model::LoadedModel& loaded, model::SequenceState& state,
                              const AnswerSettings& settings, AnswerTask task,
                              const std::atomic<bool>& cancel) {
  engine::GenerateRequest request;
  request.earlier = std::move(task.earlier);
  request.prompt = std::move(task.prompt);
  request.max_new = settings.max_new;
  request.sampling = settings.sampling;
  request.stop_ids = stop_ids(settings, loaded.shape(), task.tokenizer);
  request.run_last = task.run_last;

  AnswerProgress progress(loaded.model(), static_cast<uint32_t>(request.prompt.size()),
                          settings.max_new, settings.quiet);
  engine::GenerateCallbacks callbacks = std::move(task.callbacks);
  callbacks.on_prompt_progress = [&](uint32_t done, uint32_t) { progress.prompt_rows_done(done); };
  callbacks.on_prompt_done = [&, then = std::move(callbacks.on_prompt_done)] {
    progress.start_answer(task.stream != nullptr && task.stream->splits_channels());
    if (then) then();
  };
  callbacks.on_token = [&, stops = request.stop_ids,
                        then = std::move(callbacks.on_token)](TokenId token) {
    progress.count_token();
    const bool end = std::ranges::find(stops, token) != stops.end();
    const bool go_on =
        end || task.stream == nullptr || task.stream->push(token, task.tokenizer->bytes(token));
    return go_on && (!then || then(token));
  };
  engine::GenerateResult result =
      engine::generate(loaded, state, std::move(request), callbacks, cancel);
  progress.stop();
  if (task.stream != nullptr) task.stream->finish();
  return result;
}

model::LoadedModel open_model(const std::string& folder, const model::LoadOptions& options,
                              const AnswerSettings& settings) {
  model::LoadedModel loaded(folder, options);
  if (settings.stats || (stderr_is_terminal() && !settings.quiet)) {
    fmt::print(stderr, "{}", loaded.memory_table());
  }
  if (!settings.quiet) {
    for (const std::string& note : loaded.notes()) fmt::print(stderr, "note: {}\n", note);
  }
  const std::string buffered = loaded.buffered_files();
  if (!buffered.empty() && !settings.quiet) {
    fmt::print(stderr, "read through the page cache, because direct reads are refused: {}\n",
               buffered);
  }
  return loaded;
}

AnswerStream::Show show_on_terminal(std::function<void(std::string_view)> write) {
  const bool dim = stderr_is_terminal();
  return [dim, write = std::move(write), in_reasoning = false](Channel channel,
                                                               std::string_view text) mutable {
    if (in_reasoning && channel == Channel::kContent) fmt::print(stderr, "\n");
    in_reasoning = channel == Channel::kReasoning;
    if (channel == Channel::kContent) {
      write(text);
    } else {
      fmt::print(stderr, "{}{}{}", dim ? "\x1b[2m" : "", text, dim ? "\x1b[0m" : "");
    }
  };
}

}  // namespace sluice::cli
