#include "base/error.h"
#include "cli/chat_partner.h"
#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/default_model.h"
#include "cli/line_reader.h"
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
           "works in a pipe. Ctrl-C ends an answer early. With --url, sampling and lengths are "
           "sent with each request, and the options of the model and the machine play no part.";
  }
  void declare(OptionList& options) override {
    declare_model_folder(options, model_);
    options.group("Server");
    options.string({"url", "ADDRESS",
                    "let a server answer, such as http://127.0.0.1:8080, instead of a model here"},
                   url_);
    options.string({"api-key", "KEY", "the server's"}, key_);
    options.needs("url");
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
  std::optional<ChatAnswer> try_answer();
  std::string move_conversation(bool save, const std::string& path);
  void reset();

  ModelSettings model_;
  AnswerSettings answer_;
  std::optional<std::string> system_;
  std::string effort_ = "max";

  std::string url_, key_;

  std::unique_ptr<ChatPartner> partner_;
  std::vector<ChatMessage> messages_;
  int exit_code_ = kExitOk;  // Says whether an answer was lost or stopped.
};

void ChatCommand::reset() {
  messages_.clear();
  if (system_) messages_.push_back({"system", *system_, ""});
}

/// Nothing when the answer is lost: the next request may succeed.
std::optional<ChatAnswer> ChatCommand::try_answer() {
  bool wrote = false;
  const auto write = [&](std::string_view text) {
    wrote = true;
    write_output(text);
  };
  try {
    ChatAnswer answer = partner_->answer(messages_, effort_, write);
    if (answer.refusal.empty()) write_output("\n");
    return answer;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo && error.code() != ErrorCode::kCorrupt) throw;
    if (wrote) write_output("\n");
    fmt::print(stderr, "{}\n", error.what());
    exit_code_ = exit_code(error.code());
    return std::nullopt;
  }
}

ChatCommand::Next ChatCommand::turn(const std::string& message) {
  messages_.push_back({"user", message, ""});
  const std::optional<ChatAnswer> answer = try_answer();
  if (!answer || !answer->refusal.empty()) {
    if (answer) fmt::print(stderr, "{}\n", answer->refusal);
    messages_.pop_back();
    return Next::kGoOn;
  }
  if (answer->content.empty() && answer->reasoning.empty()) {
    fmt::print(stderr, "the answer was empty, so the message is left out of the conversation\n");
    messages_.pop_back();
  } else {
    messages_.push_back({"assistant", answer->content, answer->reasoning});
  }
  return answer->stopped ? Next::kCancelled : Next::kGoOn;
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
  if (url_.empty()) {
    partner_ = open_local_partner(model_, answer_);
    return;
  }
  if (model_.folder != default_model() || !model_.volumes.empty() || model_.memory_bytes != 0) {
    throw Error(ErrorCode::kInvalidInput,
                "--url talks to a server that has a model already: leave MODEL, --volume and "
                "--memory out");
  }
  partner_ = open_remote_partner(url_, key_, answer_);
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
  partner_->finish();
  return exit_code_;
}

}  // namespace

std::unique_ptr<Command> make_chat_command() { return std::make_unique<ChatCommand>(); }

}  // namespace sluice::cli
