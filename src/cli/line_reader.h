#pragma once
#include <memory>
#include <optional>
#include <string>

namespace sluice::cli {

/// Lines from standard input. On a terminal they can be edited and recalled, where the build has
/// libedit; in a pipe nothing is printed.
class LineReader {
 public:
  explicit LineReader(std::string prompt);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Without the end of the line. Nothing at the end of the input.
  [[nodiscard]] std::optional<std::string> next();

 private:
  struct Editor;
  const std::string prompt_;
  std::unique_ptr<Editor> editor_;  // Null in a pipe, or without libedit.
};

}  // namespace sluice::cli
