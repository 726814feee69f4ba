#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_prompt.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/files.h"
#include "cli/line_reader.h"
#include "cli/model_options.h"
#include "cli/read_recorder.h"
#include "cli/terminal.h"
#include "text/utf8.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

constexpr const char* kHelp =
    "/reset        forget the conversation\n"
    "/save FILE    write the conversation\n"
    "/load FILE    go on with a written one\n"
    "/effort E     how much to think: low, high, max, none\n"
    "/help         this list\n"
    "/quit         end\n";

class ChatCommand : public Command {
 public:
  std::string name() const override { return "chat"; }
  std::string summary() const override { return "Holds a conversation, a line at a time"; }
  std::string details() const override {
    return "Each line of standard input is a message; lines that begin with a slash are commands, "
           "which /help lists. Answers go to standard output, all else to standard error, so it "
           "works "
           "in a pipe. Ctrl-C ends an answer early.";
  }
  void declare(OptionList& options) override {
    declare_model_folder(options, model_);
    options.group("Prompt");
    options.maybe({"system", "TEXT", "a system message at the start"}, system_);
    declare_effort(options, effort_);
    declare_answer_options(options, answer_);
    declare_model_options(options, model_, fmt::format("{}", model::LoadOptions{}.context));
  }
  int run() override;

 private:
  void open();
  void converse();
  enum class Next : uint8_t { kGoOn, kQuit, kCancelled };
  Next command(std::string_view line);
  Next turn(const std::string& message);
  std::optional<engine::GenerateResult> try_answer(AnswerTask task);
  std::string move_conversation(bool save, const std::string& path);
  void reset();
  [[nodiscard]] AnswerTask next_task(std::vector<TokenId> tokens);

  ModelSettings model_;
  AnswerSettings answer_;
  std::optional<std::string> system_;
  std::string effort_ = "max";

  std::optional<text::Tokenizer> tokenizer_;
  ReadBuffer read_buffer_;
  std::optional<model::LoadedModel> loaded_;
  std::optional<ReadRecorder> read_recorder_;
  std::unique_ptr<model::SequenceState> state_;
  std::vector<ChatMessage> messages_;
  std::vector<TokenId> held_;  // The tokens that state_ has seen.
  int exit_code_ = kExitOk;    // Says whether an answer was lost or stopped.
};

void ChatCommand::reset() {
  messages_.clear();
  if (system_) messages_.push_back({"system", *system_, ""});
}

/// What must run so that the sequence holds `tokens`: what follows the tokens it has, or all when
/// they differ.
AnswerTask ChatCommand::next_task(std::vector<TokenId> tokens) {
  const bool extends =
      held_.size() < tokens.size() && std::equal(held_.begin(), held_.end(), tokens.begin());
  if (!extends) {
    state_->clear();
    held_.clear();
  }
  AnswerTask task;
  task.earlier = held_;
  task.prompt.assign(tokens.begin() + static_cast<ptrdiff_t>(held_.size()), tokens.end());
  task.tokenizer = &*tokenizer_;
  return task;
}

/// Nothing when weights cannot be read: the next request may find them.
std::optional<engine::GenerateResult> ChatCommand::try_answer(AnswerTask task) {
  const InterruptGuard interrupt;
  try {
    return answer(*loaded_, *state_, answer_, std::move(task), interrupt.flag());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo && error.code() != ErrorCode::kCorrupt) throw;
    fmt::print(stderr, "{}\n", error.what());
    exit_code_ = exit_code(error.code());
    return std::nullopt;
  }
}

ChatCommand::Next ChatCommand::turn(const std::string& message) {
  messages_.push_back({"user", message, ""});
  std::vector<TokenId> tokens = encode_chat(*tokenizer_, messages_, effort_);
  if (tokens.size() >= state_->context()) {
    fmt::print(
        stderr,
        "the conversation has {} tokens and the context {}: /reset starts anew, --context N makes "
        "more room\n",
        tokens.size(), state_->context());
    messages_.pop_back();
    return Next::kGoOn;
  }
  AnswerStream stream(answer_.stop_strings, show_on_terminal());
  stream.expect_chat(tokenizer_->special(), first_channel(effort_));
  AnswerTask task = next_task(tokens);
  task.stream = &stream;
  const std::optional<engine::GenerateResult> result = try_answer(std::move(task));
  if (result || !stream.text(Channel::kContent).empty()) write_output("\n");
  if (!result) {
    messages_.pop_back();
    state_->clear();
    held_.clear();
    return Next::kGoOn;
  }
  if (answer_.stats) fmt::print(stderr, "{}", engine::stats_text(result->stats));
  messages_.push_back(
      {"assistant", stream.text(Channel::kContent), stream.text(Channel::kReasoning)});
  if (result->reason == engine::FinishReason::kCancelled) {
    state_->clear();
    held_.clear();
    return Next::kCancelled;
  }
  if (result->reason == engine::FinishReason::kContext) {
    fmt::print(stderr, "the context of {} tokens is full: /reset starts anew\n", state_->context());
  }
  tokens.insert(tokens.end(), result->generated.begin(), result->generated.end());
  tokens.resize(state_->length());
  held_ = std::move(tokens);
  return Next::kGoOn;
}

/// To or from a file. Returns what went wrong, which is no reason to end the program.
std::string ChatCommand::move_conversation(bool save, const std::string& path) {
  try {
    if (save) {
      save_conversation(path, messages_);
    } else {
      messages_ = load_conversation(path);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

ChatCommand::Next ChatCommand::command(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string word(line.substr(0, space));
  const std::string rest(line.substr(std::min(space + 1, line.size())));
  std::string trouble;
  if (word == "/quit") return Next::kQuit;
  if (word == "/reset") {
    reset();
  } else if (word == "/help") {
    fmt::print(stderr, "{}", kHelp);
  } else if (word == "/save" || word == "/load") {
    trouble = rest.empty() ? word + " needs a file" : move_conversation(word == "/save", rest);
  } else if (word == "/effort") {
    const std::vector<std::string>& names = effort_names();
    if (std::ranges::find(names, rest) != names.end()) {
      effort_ = rest;
    } else {
      trouble = fmt::format("\"{}\" is not one of {}", rest, fmt::join(names, ", "));
    }
  } else {
    const std::vector<std::string> names = {"/quit", "/reset", "/help",
                                            "/save", "/load",  "/effort"};
    const std::string_view meant = nearest(word, names);
    trouble = fmt::format(
        "unknown command {}; {}", word,
        meant.empty() ? "/help lists the commands" : fmt::format("did you mean {}?", meant));
  }
  if (!trouble.empty()) fmt::print(stderr, "{}\n", trouble);
  return Next::kGoOn;
}

void ChatCommand::open() {
  engine::check_sampling(answer_.sampling);
  check_writable("--read-trace", answer_.read_trace_file);
  tokenizer_ = open_tokenizer(model_.folder);
  if (!tokenizer_) {
    throw Error(ErrorCode::kNotFound, "{} has no tiktoken.model, which a conversation needs",
                model_.folder);
  }
  model::LoadOptions options = load_options(model_);
  if (!answer_.read_trace_file.empty()) read_buffer_.attach(options);
  loaded_.emplace(open_model(model_.folder, options, answer_));
  check_vocabulary(*tokenizer_, loaded_->shape().vocab, model_.folder);
  if (!answer_.read_trace_file.empty()) {
    read_recorder_.emplace(*loaded_, read_buffer_, answer_.read_trace_file);
  }
  state_ = loaded_->make_state();
}

void ChatCommand::converse() {
  reset();
  LineReader reader("> ");
  while (std::optional<std::string> line = reader.next()) {
    if (line->empty()) continue;
    if (const size_t bad = text::find_invalid_utf8(*line); bad != std::string::npos) {
      fmt::print(stderr, "byte {} of the line is not UTF-8; the line is left out\n", bad);
      continue;
    }
    const Next next = line->starts_with('/') ? command(*line) : turn(*line);
    if (next == Next::kQuit) break;
    // A person goes on after stopping an answer; a script meant to stop the whole.
    if (next == Next::kCancelled && !stdin_is_terminal()) {
      exit_code_ = kExitCancelled;
      break;
    }
  }
}

int ChatCommand::run() {
  open();
  converse();
  if (read_recorder_) read_recorder_->finish();
  return exit_code_;
}

}  // namespace

std::unique_ptr<Command> make_chat_command() { return std::make_unique<ChatCommand>(); }

}  // namespace sluice::cli
