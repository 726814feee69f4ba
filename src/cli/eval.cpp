#include "cli/eval.h"

#include "base/error.h"
#include "cli/answer_options.h"
#include "cli/chat_prompt.h"
#include "cli/command.h"
#include "cli/files.h"

#include <memory>
#include <string>

namespace sluice::cli {
namespace {

class EvalCommand : public Command {
 public:
  std::string name() const override { return "eval"; }
  std::string summary() const override {
    return "Measures how well a model predicts a text or answers questions";
  }
  std::string details() const override {
    return "With --text: how probable the model finds a text, in bits per byte and as perplexity. "
           "The text is cut into windows, each of which starts from an empty state; one that "
           "starts --stride tokens after the one before it scores only what that has not, so "
           "each token has at least window - stride tokens before it. Every byte counts: the very "
           "first token, which nothing comes before, costs what one of the vocabulary's equally "
           "probable tokens does. With --questions: the share of questions whose answer, without "
           "reasoning and blanks around it, is one of those in the file, a line each: "
           "{\"prompt\": \"2+2?\", \"answers\": [\"4\"], \"kind\": \"sums\"}. With --progress a "
           "run that was interrupted goes on where it was when it is started again, and ends with "
           "the same figures.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  void check() const;

  EvalSettings settings_;
};

void EvalCommand::declare(OptionList& options) {
  constexpr uint32_t kTokensMax = 1u << 20;
  declare_model_folder(options, settings_.model);
  options.group("What to measure");
  options.string({"text", "FILE", "a text to predict"}, settings_.text_file, Completion::kFile);
  options.string({"questions", "FILE", "questions to answer, .jsonl"}, settings_.questions_file,
                 Completion::kFile);

  options.group("Text");
  options.number({"window", "N", "tokens that run together"}, settings_.window, {2, kTokensMax});
  options.describe_default("512");
  options.number({"stride", "N", "tokens from one window to the next"}, settings_.stride,
                 {1, kTokensMax});
  options.describe_default("half a window");
  options.number({"limit-tokens", "N", "score the first N tokens only"}, settings_.limit_tokens,
                 {1, UINT64_MAX});
  options.describe_default("all");

  options.group("Questions");
  options.flag({"raw", "", "continue the prompt as a text instead of answering it as a message"},
               settings_.raw);
  declare_effort(options, settings_.effort);
  options.maybe({"system", "TEXT", "a system message before each question"}, settings_.system);
  options.number({"max-new", "N", "tokens of one answer at most, with its reasoning"},
                 settings_.max_new, {1, kTokensMax});
  options.describe_default("256");
  options.strings({"stop", "TEXT", "end an answer before this text; may be given several times"},
                  settings_.stop_strings);
  options.number({"limit", "N", "ask the first N questions only"}, settings_.limit,
                 {1, UINT64_MAX});
  options.describe_default("all");
  options.string({"output", "FILE", "write a line for each question: its answer and whether right"},
                 settings_.output_file, Completion::kFile);

  options.group("Output");
  options.flag({"json", "", "print one JSON object"}, settings_.json);
  options.flag({"quiet", "", "show no progress"}, settings_.quiet);
  options.string({"progress", "FILE", "keep here what is done, and go on from it when it is there"},
                 settings_.progress_file, Completion::kFile);
  options.string({"routes", "FILE", "record the experts of every token; sluice routes reads it"},
                 settings_.routes_file, Completion::kFile);
  declare_read_trace(options, settings_.read_trace_file);
  declare_model_options(options, settings_.model, "what the windows or questions need");
}

void EvalCommand::check() const {
  const EvalSettings& s = settings_;
  if (s.text_file.empty() == s.questions_file.empty()) {
    throw Error(ErrorCode::kInvalidInput, "give one of --text and --questions");
  }
  struct Belongs {
    const char* option;
    bool given;
    bool to_text;
  };
  for (const auto& [option, given, to_text] :
       {Belongs{"--window", s.window != 0, true}, Belongs{"--stride", s.stride != 0, true},
        Belongs{"--limit-tokens", s.limit_tokens != 0, true}, Belongs{"--raw", s.raw, false},
        Belongs{"--effort", !s.effort.empty(), false},
        Belongs{"--system", s.system.has_value(), false},
        Belongs{"--max-new", s.max_new != 0, false},
        Belongs{"--stop", !s.stop_strings.empty(), false}, Belongs{"--limit", s.limit != 0, false},
        Belongs{"--output", !s.output_file.empty(), false}}) {
    if (given && to_text == s.text_file.empty()) {
      throw Error(ErrorCode::kInvalidInput, "{} needs {}", option,
                  to_text ? "--text" : "--questions");
    }
  }
  if (s.raw && (!s.effort.empty() || s.system)) {
    throw Error(ErrorCode::kInvalidInput,
                "--raw continues a text, in which there is no place for --effort or --system");
  }
  check_writable("--output", s.output_file);
  check_writable("--progress", s.progress_file);
  check_writable("--routes", s.routes_file);
  check_writable("--read-trace", s.read_trace_file);
}

int EvalCommand::run() {
  check();
  const std::optional<text::Tokenizer> tokenizer = open_tokenizer(settings_.model.folder);
  if (!tokenizer) {
    throw Error(ErrorCode::kNotFound, "{} has no tiktoken.model, which an evaluation needs",
                settings_.model.folder);
  }
  return settings_.text_file.empty() ? eval_questions(settings_, *tokenizer)
                                     : eval_text(settings_, *tokenizer);
}

}  // namespace

std::unique_ptr<Command> make_eval_command() { return std::make_unique<EvalCommand>(); }

}  // namespace sluice::cli
