#pragma once
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// Lines of cells in columns: the first to the left, numbers to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) { add(std::move(heads)); }
  /// As many cells as there are heads.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// With line ends, without blanks in front of them.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sluice::cli
