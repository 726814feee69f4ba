#include "base/error.h"
#include "cli/answer.h"
#include "cli/chat_prompt.h"
#include "cli/eval.h"
#include "cli/files.h"
#include "cli/questions.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Questions and the tokens that ask them.
struct QuestionTask {
  std::vector<Question> questions;
  std::vector<std::vector<TokenId>> prompts;
  std::string effort;
  AnswerSettings answer;
  EvalIdentity identity;
};

std::vector<TokenId> prompt_tokens(const EvalSettings& settings, const text::Tokenizer& tokenizer,
                                   const std::string& effort, const Question& question) {
  if (settings.raw) return tokenizer.encode(question.prompt);
  std::vector<ChatMessage> messages;
  if (settings.system) messages.push_back({"system", *settings.system, ""});
  messages.push_back({"user", question.prompt, ""});
  return encode_chat(tokenizer, messages, effort);
}

QuestionTask read_task(const EvalSettings& settings, const text::Tokenizer& tokenizer) {
  constexpr uint32_t kMaxNew = 256;
  const std::string text = read_text("--questions", settings.questions_file);
  QuestionTask task;
  task.questions = parse_questions(text, settings.questions_file);
  if (settings.limit != 0 && settings.limit < task.questions.size()) {
    task.questions.resize(settings.limit);
  }
  task.effort = settings.effort.empty() ? "max" : settings.effort;
  task.answer.max_new = settings.max_new != 0 ? settings.max_new : kMaxNew;
  task.answer.stop_strings = settings.stop_strings;
  task.answer.quiet = true;  // The questions have a display of their own.
  for (const Question& question : task.questions) {
    task.prompts.push_back(prompt_tokens(settings, tokenizer, task.effort, question));
  }
  task.identity = input_identity("questions", text);
  task.identity.emplace_back("--raw", settings.raw ? "given" : "absent");
  task.identity.emplace_back("--effort", task.effort);
  task.identity.emplace_back("--system", settings.system.value_or(""));
  task.identity.emplace_back("--max-new", fmt::format("{}", task.answer.max_new));
  task.identity.emplace_back("--stop", dump(settings.stop_strings));
  task.identity.emplace_back("the number of questions", fmt::format("{}", task.questions.size()));
  return task;
}

EvalNeeds needs_of(const EvalSettings& settings, const QuestionTask& task) {
  size_t longest = 0;
  uint64_t digest = 0, held_bytes = 0;
  for (const auto& prompt : task.prompts) {
    longest = std::max(longest, prompt.size());
    digest = digest_of_tokens(digest, prompt);
    held_bytes += prompt.capacity() * sizeof(TokenId);
  }
  for (const Question& question : task.questions) held_bytes += question.prompt.capacity();
  return {load_options(settings.model), static_cast<uint32_t>(longest) + task.answer.max_new,
          task.identity, digest, held_bytes};
}

class QuestionEvaluation final : public Evaluation {
 public:
  QuestionEvaluation(const EvalSettings& settings, const text::Tokenizer& tokenizer)
      : settings_(settings),
        tokenizer_(tokenizer),
        task_(read_task(settings, tokenizer)),
        run_(settings, tokenizer, needs_of(settings, task_)),
        done_before_(run_.state().done) {
    if (done_before_ > task_.questions.size() || done_before_ != run_.state().correct.size()) {
      throw Error(ErrorCode::kCorrupt, "{}: its counts contradict each other; remove it",
                  settings.progress_file);
    }
    count();
  }

 private:
  [[nodiscard]] bool step() override;
  void end() override { run_.end(); }
  void count();
  [[nodiscard]] bool finished() const override {
    return run_.state().done == task_.questions.size();
  }
  [[nodiscard]] std::string progress_text() override;
  [[nodiscard]] double progress_share() const override;
  [[nodiscard]] std::string report() const override;
  [[nodiscard]] std::string json() const override;

  const EvalSettings& settings_;
  const text::Tokenizer& tokenizer_;
  const QuestionTask task_;
  EvalRun run_;
  const uint64_t done_before_;
  std::atomic<uint64_t> done_{0}, right_{0};  // For the display's thread.
};

void QuestionEvaluation::count() {
  const std::string& correct = run_.state().correct;
  done_ = correct.size();
  right_ = static_cast<uint64_t>(std::ranges::count(correct, '1'));
}

bool QuestionEvaluation::step() {
  const uint64_t index = run_.state().done;
  const Question& question = task_.questions[index];
  AnswerStream stream(task_.answer.stop_strings, [](Channel, std::string_view) {});
  if (!settings_.raw) stream.expect_chat(tokenizer_.special(), first_channel(task_.effort));
  AnswerTask task;
  task.prompt = task_.prompts[index];
  task.tokenizer = &tokenizer_;
  task.stream = &stream;
  task.callbacks.on_prompt_done = [this] { run_.begin_answer(); };
  const engine::GenerateResult result =
      answer(run_.loaded(), run_.begin_sequence(), task_.answer, std::move(task), run_.cancel());
  if (result.reason == engine::FinishReason::kCancelled) return false;

  const std::string text(trimmed(stream.text(Channel::kContent)));
  const bool right = is_right(question, text);
  Json line = {{"index", index}, {"prompt", question.prompt}, {"answer", text}};
  if (!settings_.raw) line["reasoning"] = stream.text(Channel::kReasoning);
  if (question.kind) line["kind"] = *question.kind;
  line["finish_reason"] = engine::finish_reason_name(result.reason);
  line["correct"] = right;
  run_.finish_question(result.stats, right, dump(line));
  count();
  return true;
}

std::string QuestionEvaluation::progress_text() {
  const model::Model& model = run_.loaded().model();
  return fmt::format("question {} of {}, layer {} of {}, {} of {} right so far", done_ + 1,
                     task_.questions.size(), model.layers_done(), model.shape().layers,
                     right_.load(), done_.load());
}

double QuestionEvaluation::progress_share() const {
  return static_cast<double>(done_ - done_before_) /
         static_cast<double>(task_.questions.size() - done_before_);
}

std::string QuestionEvaluation::report() const {
  std::string out;
  if (!finished()) {
    out = fmt::format("stopped after question {} of {}\n", done_.load(), task_.questions.size());
  }
  const std::vector<QuestionScore> scores = question_scores(task_.questions, run_.state().correct);
  size_t width = 5;
  for (const QuestionScore& score : scores) width = std::max(width, score.kind.size());
  const auto line = [&](const std::string& name, const QuestionScore& score) {
    out += fmt::format("{:<{}}{:>12}{:>8}{:>9.1f} %\n", name, width, score.asked, score.right,
                       100.0 * score.share());
  };
  out += fmt::format("{:<{}}{:>12}{:>8}{:>11}\n", "kind", width, "questions", "right", "share");
  for (size_t i = 1; i < scores.size(); ++i) line(scores[i].kind, scores[i]);
  line("total", scores[0]);
  return out + fmt::format("{:.2f} tokens/s\n", rows_per_second(run_.state()));
}

std::string QuestionEvaluation::json() const {
  const std::vector<QuestionScore> scores = question_scores(task_.questions, run_.state().correct);
  const auto figures = [](const QuestionScore& score) {
    return Json{{"questions", score.asked}, {"right", score.right}, {"share", score.share()}};
  };
  Json report = {{"finished", finished()}};
  report.update(figures(scores[0]));
  report["kinds"] = Json::object();
  for (size_t i = 1; i < scores.size(); ++i) report["kinds"][scores[i].kind] = figures(scores[i]);
  report["rows"] = run_.state().rows;
  report["seconds"] = run_.state().seconds;
  report["tokens_per_second"] = rows_per_second(run_.state());
  return dump(report) + "\n";
}

}  // namespace

int eval_questions(const EvalSettings& settings, const text::Tokenizer& tokenizer) {
  return QuestionEvaluation(settings, tokenizer).run(settings);
}

}  // namespace sluice::cli
