#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_partner.h"
#include "cli/files.h"
#include "cli/read_recorder.h"
#include "cli/terminal.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

class LocalPartner final : public ChatPartner {
 public:
  LocalPartner(const ModelSettings& model, const AnswerSettings& settings) : settings_(settings) {
    engine::check_sampling(settings.sampling);
    check_writable("--read-trace", settings.read_trace_file);
    tokenizer_ = open_tokenizer(model.folder);
    if (!tokenizer_) {
      throw Error(ErrorCode::kNotFound, "{} has no tiktoken.model, which a conversation needs",
                  model.folder);
    }
    model::LoadOptions options = load_options(model);
    if (!settings.read_trace_file.empty()) read_buffer_.attach(options);
    loaded_.emplace(open_model(model.folder, options, settings));
    check_vocabulary(*tokenizer_, loaded_->shape().vocab, model.folder);
    if (!settings.read_trace_file.empty()) {
      read_recorder_.emplace(*loaded_, read_buffer_, settings.read_trace_file);
    }
    state_ = loaded_->make_state();
  }

  ChatAnswer answer(std::span<const ChatMessage> messages, const std::string& effort,
                    const Write& write) override;
  void finish() override {
    if (read_recorder_) read_recorder_->finish();
  }

 private:
  [[nodiscard]] AnswerTask next_task(const std::vector<TokenId>& tokens);

  const AnswerSettings settings_;
  std::optional<text::Tokenizer> tokenizer_;
  ReadBuffer read_buffer_;
  std::optional<model::LoadedModel> loaded_;
  std::optional<ReadRecorder> read_recorder_;
  std::unique_ptr<model::SequenceState> state_;
  std::vector<TokenId> held_;  // The tokens that state_ has seen, where that is known.
};

/// What must run so that the sequence holds `tokens`: what follows the tokens it has, or all when
/// they differ.
AnswerTask LocalPartner::next_task(const std::vector<TokenId>& tokens) {
  const bool extends = held_.size() == state_->length() && held_.size() < tokens.size() &&
                       std::equal(held_.begin(), held_.end(), tokens.begin());
  if (!extends) {
    state_->clear();
    held_.clear();
  }
  AnswerTask task;
  task.prompt.assign(tokens.begin() + static_cast<ptrdiff_t>(held_.size()), tokens.end());
  // Until the answer is there, nobody knows what the sequence has seen.
  task.earlier = std::exchange(held_, {});
  task.tokenizer = &*tokenizer_;
  return task;
}

ChatAnswer LocalPartner::answer(std::span<const ChatMessage> messages, const std::string& effort,
                                const Write& write) {
  std::vector<TokenId> tokens = encode_chat(*tokenizer_, messages, effort);
  if (tokens.size() >= state_->context()) {
    return {.refusal = fmt::format("the conversation has {} tokens and the context {}: /reset "
                                   "starts anew, --context N makes more room",
                                   tokens.size(), state_->context())};
  }
  AnswerStream stream(settings_.stop_strings, show_on_terminal(write));
  stream.expect_chat(tokenizer_->special(), first_channel(effort));
  AnswerTask task = next_task(tokens);
  task.stream = &stream;
  const InterruptGuard interrupt;
  const engine::GenerateResult result =
      cli::answer(*loaded_, *state_, settings_, std::move(task), interrupt.flag());
  ChatAnswer answer{.content = stream.text(Channel::kContent),
                    .reasoning = stream.text(Channel::kReasoning),
                    .stopped = result.reason == engine::FinishReason::kCancelled};
  if (answer.stopped) return answer;
  if (settings_.stats) fmt::print(stderr, "{}", engine::stats_text(result.stats));
  if (result.reason == engine::FinishReason::kContext) {
    fmt::print(stderr, "the context of {} tokens is full: /reset starts anew\n", state_->context());
  }
  tokens.insert(tokens.end(), result.generated.begin(), result.generated.end());
  tokens.resize(state_->length());
  held_ = std::move(tokens);
  return answer;
}

}  // namespace

std::unique_ptr<ChatPartner> open_local_partner(const ModelSettings& model,
                                                const AnswerSettings& settings) {
  return std::make_unique<LocalPartner>(model, settings);
}

}  // namespace sluice::cli
