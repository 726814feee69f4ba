#include "cli/questions.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// Reads the fields of one line.
class LineParser {
 public:
  LineParser(std::string_view line, std::string where)
      : json_(nlohmann::json::parse(line, nullptr, false)), where_(std::move(where)) {
    if (!json_.is_object()) refuse("is not a JSON object");
  }

  [[nodiscard]] Question question() const {
    Question question;
    question.prompt = text(field("prompt"), "\"prompt\"");
    if (trimmed(question.prompt).empty()) refuse("\"prompt\" is empty");
    const nlohmann::json& answers = field("answers");
    if (!answers.is_array() || answers.empty()) refuse("\"answers\" is no list of texts");
    for (size_t i = 0; i < answers.size(); ++i) {
      question.answers.push_back(text(answers[i], fmt::format("\"answers\"[{}]", i)));
    }
    if (json_.contains("kind")) question.kind = text(json_["kind"], "\"kind\"");
    return question;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::kInvalidInput,
                "{}: {}; a line is like {{\"prompt\": \"2+2?\", \"answers\": [\"4\"]}}", where_,
                what);
  }
  [[nodiscard]] const nlohmann::json& field(const char* name) const {
    if (!json_.contains(name)) refuse(fmt::format("\"{}\" is missing", name));
    return json_[name];
  }
  [[nodiscard]] std::string text(const nlohmann::json& value, const std::string& name) const {
    if (!value.is_string()) refuse(name + " is no text");
    return value.get<std::string>();
  }

  const nlohmann::json json_;
  const std::string where_;
};

}  // namespace

std::vector<Question> parse_questions(std::string_view text, const std::string& path) {
  std::vector<Question> questions;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(line).empty()) continue;
    questions.push_back(LineParser(line, fmt::format("{}: line {}", path, number)).question());
  }
  if (questions.empty()) {
    throw Error(ErrorCode::kInvalidInput, "{}: holds no question", path);
  }
  return questions;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

bool is_right(const Question& question, std::string_view answer) {
  return std::ranges::any_of(question.answers, [&](const std::string& right) {
    return trimmed(right) == trimmed(answer);
  });
}

std::vector<QuestionScore> question_scores(const std::vector<Question>& questions,
                                           std::string_view correct) {
  SLUICE_CHECK(correct.size() <= questions.size());
  std::vector<QuestionScore> scores(1);
  const auto count = [](QuestionScore& score, bool right) {
    score.asked += 1;
    score.right += right ? 1 : 0;
  };
  for (size_t i = 0; i < correct.size(); ++i) {
    count(scores[0], correct[i] == '1');
    const std::optional<std::string>& kind = questions[i].kind;
    if (!kind) continue;
    auto found = std::find_if(scores.begin() + 1, scores.end(),
                              [&](const QuestionScore& score) { return score.kind == *kind; });
    if (found == scores.end()) found = scores.insert(found, QuestionScore{*kind});
    count(*found, correct[i] == '1');
  }
  return scores;
}

}  // namespace sluice::cli
