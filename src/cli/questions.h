#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// A question and the answers that count as right.
struct Question {
  std::string prompt;
  std::vector<std::string> answers;
  std::optional<std::string> kind{};
};

/// Reads one question a line: {"prompt": text, "answers": [text, ...], "kind": text}, where "kind"
/// may be missing. Other fields and blank lines are passed over. Throws Error(kInvalidInput) that
/// names the path, the line and the field.
[[nodiscard]] std::vector<Question> parse_questions(std::string_view text, const std::string& path);

/// Without the blanks (space, tab, CR, LF) around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// Whether `answer` is one of those of the question, blanks around them aside.
[[nodiscard]] bool is_right(const Question& question, std::string_view answer);

/// How many questions were answered, and how many of them right.
struct QuestionScore {
  std::string kind;
  uint64_t asked = 0, right = 0;

  [[nodiscard]] double share() const {
    return asked == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(asked);
  }
};

/// The score of the first questions, one for each character of `correct`: '1' for a right answer.
/// The total comes first, with an empty kind; then each kind, in the order of the file.
[[nodiscard]] std::vector<QuestionScore> question_scores(const std::vector<Question>& questions,
                                                         std::string_view correct);

}  // namespace sluice::cli
