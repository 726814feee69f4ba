#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_prompt.h"
#include "cli/command.h"
#include "cli/dump.h"
#include "cli/files.h"
#include "cli/model_options.h"
#include "cli/read_recorder.h"
#include "cli/route_recorder.h"
#include "cli/terminal.h"
#include "format/safetensors_writer.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

class RunCommand : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string summary() const override { return "Continues a prompt, or answers it with --chat"; }
  std::string details() const override {
    return "The text goes to standard output as it comes; progress, reasoning and statistics go to "
           "standard error. Without sampling options the most probable token is always taken. "
           "Ctrl-C "
           "ends the answer and prints what there is; a second one ends the program at once.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  void check() const;
  [[nodiscard]] std::vector<TokenId> prompt_tokens() const;
  [[nodiscard]] model::LoadOptions loading(size_t prompt_tokens);
  [[nodiscard]] std::string effort() const { return effort_.empty() ? "max" : effort_; }
  [[nodiscard]] bool wants_logits() const { return !logits_file_.empty() || !dump_file_.empty(); }
  [[nodiscard]] bool shows_text() const { return tokenizer_.has_value() && !print_ids_ && !json_; }
  engine::GenerateResult generate(std::vector<TokenId> prompt, model::SequenceState& state);
  void write_files(size_t prompt_rows, const std::vector<TokenId>& generated,
                   const model::SequenceState& state);
  void print(const engine::GenerateResult& result, size_t prompt_tokens);
  void write(std::string_view text);

  ModelSettings model_;
  AnswerSettings answer_;
  std::optional<std::string> prompt_, prompt_file_, system_;
  std::vector<TokenId> prompt_ids_;
  bool chat_ = false, print_ids_ = false, json_ = false;
  std::string effort_;  // Empty: not given.
  std::string logits_file_, dump_file_, routes_file_, save_state_, load_state_;

  std::optional<text::Tokenizer> tokenizer_;
  ReadBuffer read_buffer_;
  std::optional<model::LoadedModel> loaded_;
  std::optional<ReadRecorder> read_recorder_;
  std::optional<AnswerStream> stream_;
  std::string output_trouble_;  // Of standard output; nothing is written after it.
  std::optional<DumpRecorder> dump_;
  std::optional<RouteRecorder> route_recorder_;
  std::optional<format::NpyWriter> npy_;
  std::vector<float> logits_;  // Of every row that ran, [rows, vocab], for the dump.
};

void RunCommand::declare(OptionList& options) {
  declare_model_folder(options, model_);
  options.group("Prompt");
  options.maybe({"prompt", "TEXT", "the prompt"}, prompt_);
  options.maybe({"prompt-file", "FILE", "a file that holds the prompt"}, prompt_file_);
  options.ids({"prompt-ids", "IDS", "the prompt as token ids, for example 1,2,3"}, prompt_ids_);
  options.flag({"chat", "", "the prompt is a message to answer, not a text to continue"}, chat_);
  options.maybe({"system", "TEXT", "a system message before it; with --chat"}, system_);
  declare_effort(options, effort_);
  declare_answer_options(options, answer_);
  options.group("Output");
  options.flag({"json", "", "print one JSON object at the end: text, ids, usage, statistics"},
               json_);
  options.flag({"print-ids", "", "print the generated ids on one line and nothing else"},
               print_ids_);
  options.string({"logits", "FILE",
                  "write an .npy file, fp32 [prompt + generated, vocab]: the row after each token"},
                 logits_file_, Completion::kFile);
  options.string(
      {"dump", "FILE",
       "write every intermediate value of the prompt (.safetensors); takes memory of the budget"},
      dump_file_, Completion::kFile);
  options.string({"routes", "FILE",
                  "record the experts of every token; sluice routes, place and simulate read it"},
                 routes_file_, Completion::kFile);
  options.string({"save-state", "FILE", "write the state after prompt and answer"}, save_state_,
                 Completion::kFile);
  options.string({"load-state", "FILE", "continue from such a state; the prompt follows it"},
                 load_state_, Completion::kFile);
  declare_model_options(options, model_,
                        fmt::format("what the prompt and --max-new need; {} with --load-state",
                                    model::LoadOptions{}.context));
}

void RunCommand::check() const {
  const int prompts = (prompt_ ? 1 : 0) + (prompt_file_ ? 1 : 0) + (prompt_ids_.empty() ? 0 : 1);
  if (prompts != 1) {
    throw Error(ErrorCode::kInvalidInput,
                "give one of --prompt, --prompt-file and --prompt-ids; there are {}", prompts);
  }
  if (chat_ && !prompt_ids_.empty()) {
    throw Error(ErrorCode::kInvalidInput, "--chat needs a prompt of text, not --prompt-ids");
  }
  if (system_ && !chat_) throw Error(ErrorCode::kInvalidInput, "--system needs --chat");
  if (!effort_.empty() && !chat_) throw Error(ErrorCode::kInvalidInput, "--effort needs --chat");
  if (print_ids_ && json_) {
    throw Error(ErrorCode::kInvalidInput,
                "--print-ids and --json both claim standard output; give one");
  }
  if (!routes_file_.empty() && !dump_file_.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "--routes and --dump both watch the passes; give one at a time");
  }
  engine::check_sampling(answer_.sampling);
  check_writable("--logits", logits_file_);
  check_writable("--dump", dump_file_);
  check_writable("--routes", routes_file_);
  check_writable("--save-state", save_state_);
  check_writable("--read-trace", answer_.read_trace_file);
  if (!tokenizer_ && (prompt_ids_.empty() || !answer_.stop_strings.empty())) {
    throw Error(ErrorCode::kNotFound,
                "{} has no tiktoken.model, so it takes no text: give --prompt-ids, and no --stop",
                model_.folder);
  }
}

std::vector<TokenId> RunCommand::prompt_tokens() const {
  if (!prompt_ids_.empty()) return prompt_ids_;
  const std::string prompt = prompt_ ? *prompt_ : read_text("--prompt-file", *prompt_file_);
  if (!chat_) return tokenizer_->encode(prompt);
  std::vector<ChatMessage> messages;
  if (system_) messages.push_back({"system", *system_, ""});
  messages.push_back({"user", prompt, ""});
  return encode_chat(*tokenizer_, messages, effort());
}

model::LoadOptions RunCommand::loading(size_t prompt_tokens) {
  model::LoadOptions options = load_options(model_);
  // What a saved state holds is not known before it is read; otherwise the need is exactly this.
  if (model_.context == 0 && load_state_.empty()) {
    options.context = static_cast<uint32_t>(prompt_tokens) + answer_.max_new;
  }
  options.logits_of_every_row = wants_logits();
  if (!dump_file_.empty()) {
    const DumpRecorder::Extent extent{prompt_tokens, prompt_tokens + answer_.max_new,
                                      options.context};
    options.output_bytes = [extent](const model::ModelShape& shape) {
      return DumpRecorder::bytes(shape, extent);
    };
  }
  if (!routes_file_.empty()) {
    const uint32_t most = options.prefill_rows != 0 ? options.prefill_rows : model::kPrefillRowsMax;
    options.output_bytes = [rows =
                                std::min(most, options.context)](const model::ModelShape& shape) {
      return RouteRecorder::bytes(shape, rows);
    };
  }
  if (!answer_.read_trace_file.empty()) read_buffer_.attach(options);
  return options;
}

engine::GenerateResult RunCommand::generate(std::vector<TokenId> prompt,
                                            model::SequenceState& state) {
  AnswerTask task;
  task.prompt = std::move(prompt);
  task.run_last = wants_logits() || !save_state_.empty();
  if (tokenizer_) {
    task.tokenizer = &*tokenizer_;
    stream_.emplace(
        answer_.stop_strings, shows_text()
                                  ? show_on_terminal([this](std::string_view text) { write(text); })
                                  : [](Channel, std::string_view) {});
    if (chat_) stream_->expect_chat(tokenizer_->special(), first_channel(effort()));
    task.stream = &*stream_;
  }
  task.callbacks.on_token = [this](TokenId) { return output_trouble_.empty(); };
  if (!logits_file_.empty()) npy_.emplace(logits_file_, loaded_->shape().vocab);
  if (wants_logits()) {
    task.callbacks.on_logits = [this](std::span<const float> rows) {
      if (npy_) npy_->append(rows);
      if (dump_) logits_.insert(logits_.end(), rows.begin(), rows.end());
    };
  }
  if (!dump_file_.empty()) {
    dump_.emplace(*loaded_, task.prompt.size());
    logits_.reserve((task.prompt.size() + answer_.max_new) * loaded_->shape().vocab);
    dump_->add_ids("prompt_ids", task.prompt);
    loaded_->model().set_observer(&*dump_);
    task.callbacks.on_prompt_done = [this, &state] {
      loaded_->model().set_observer(nullptr);
      dump_->add_state(state);
    };
  }
  if (!routes_file_.empty()) {
    route_recorder_.emplace(*loaded_, routes_file_, format::RouteTraceMark{});
    route_recorder_->begin_sequence(0);
    task.callbacks.on_prompt_done = [this] { route_recorder_->begin_answer(); };
  }
  const InterruptGuard interrupt;
  return answer(*loaded_, state, answer_, std::move(task), interrupt.flag());
}

void RunCommand::write_files(size_t prompt_rows, const std::vector<TokenId>& generated,
                             const model::SequenceState& state) {
  if (npy_) npy_->commit();
  if (route_recorder_) (void)route_recorder_->sync();
  if (dump_) {
    const size_t vocab = loaded_->shape().vocab;
    const auto row = [&](size_t i) { return logits_.begin() + static_cast<ptrdiff_t>(i * vocab); };
    dump_->add_floats("logits", {prompt_rows, vocab}, {row(0), row(prompt_rows)});
    // The row that each choice was made from is the one after the token before it.
    dump_->add_floats("step_logits", {generated.size(), vocab},
                      {row(prompt_rows - 1), row(prompt_rows - 1 + generated.size())});
    dump_->add_ids("generated", generated);
    dump_->write(dump_file_);
  }
  if (!save_state_.empty()) state.save(save_state_);
}

/// Keeps what goes wrong for the end: nobody reading is no reason to lose the files.
void RunCommand::write(std::string_view text) {
  if (output_trouble_.empty()) output_trouble_ = try_write_output(text);
}

void RunCommand::print(const engine::GenerateResult& result, size_t prompt_tokens) {
  std::vector<int32_t> ids;
  for (const TokenId id : result.generated) ids.push_back(id.value);
  if (json_) {
    nlohmann::ordered_json report;
    if (stream_) report["text"] = stream_->text(Channel::kContent);
    if (chat_) report["reasoning"] = stream_->text(Channel::kReasoning);
    report["ids"] = ids;
    report["finish_reason"] = engine::finish_reason_name(result.reason);
    report["usage"] = {{"prompt_tokens", prompt_tokens},
                       {"completion_tokens", ids.size()},
                       {"total_tokens", prompt_tokens + ids.size()}};
    report["stats"] = nlohmann::ordered_json::parse(engine::stats_json(result.stats));
    write(report.dump() + "\n");
  } else if (shows_text()) {
    write("\n");
  } else {
    write(fmt::format("{}\n", fmt::join(ids, ",")));
  }
  if (result.reason == engine::FinishReason::kContext && !answer_.quiet) {
    fmt::print(stderr, "the context of {} tokens is full; raise --context\n",
               loaded_->options().context);
  }
  if (answer_.stats) fmt::print(stderr, "{}", engine::stats_text(result.stats));
}

int RunCommand::run() {
  tokenizer_ = open_tokenizer(model_.folder);
  check();
  const std::vector<TokenId> prompt = prompt_tokens();
  if (prompt.empty()) throw Error(ErrorCode::kInvalidInput, "the prompt is empty");
  loaded_.emplace(open_model(model_.folder, loading(prompt.size()), answer_));
  if (tokenizer_) check_vocabulary(*tokenizer_, loaded_->shape().vocab, model_.folder);
  if (!answer_.read_trace_file.empty()) {
    read_recorder_.emplace(*loaded_, read_buffer_, answer_.read_trace_file);
  }
  const std::unique_ptr<model::SequenceState> state = loaded_->make_state();
  if (!load_state_.empty()) state->load(load_state_);

  const engine::GenerateResult result = generate(prompt, *state);
  print(result, prompt.size());
  if (read_recorder_) read_recorder_->finish();
  if (result.reason == engine::FinishReason::kCancelled) {
    // A pass that stopped midway leaves no state to save, and the other files would be incomplete.
    return kExitCancelled;
  }
  write_files(prompt.size(), result.generated, *state);
  if (!output_trouble_.empty()) throw Error(ErrorCode::kIo, output_trouble_);
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace sluice::cli
