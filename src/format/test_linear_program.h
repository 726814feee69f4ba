#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::format {

/// For tests: least costs under linear limits, by the simplex method. Variables are 0 or more.
class LinearProgram {
 public:
  explicit LinearProgram(size_t variables) : variables_(variables) {}

  /// The sum of coefficient * variable is at most `limit`, which is 0 or more, or exactly that.
  void limit(std::vector<std::pair<size_t, double>> terms, double limit, bool exactly = false) {
    std::vector<double> row(variables_);
    for (const auto& [variable, coefficient] : terms) row[variable] += coefficient;
    rows_.push_back({std::move(row), limit, exactly});
  }

  /// The least value of one variable; nothing when no values are within the limits.
  [[nodiscard]] std::optional<double> least(size_t variable) {
    const size_t spare = variables_, missing = spare + rows_.size(), end = missing + rows_.size();
    table_.assign(rows_.size() + 1, std::vector<double>(end + 1));
    basis_.clear();
    for (size_t r = 0; r < rows_.size(); ++r) {
      std::copy(rows_[r].terms.begin(), rows_[r].terms.end(), table_[r].begin());
      basis_.push_back((rows_[r].exactly ? missing : spare) + r);
      table_[r][basis_[r]] = 1.0;
      table_[r][end] = rows_[r].limit;
      if (!rows_[r].exactly) continue;
      for (size_t c = 0; c <= end; ++c) table_.back()[c] -= c == basis_[r] ? 0.0 : table_[r][c];
    }
    minimise(missing);
    if (table_.back()[end] < -1e-7) return std::nullopt;
    // What is still in the basis of the second part is 0 there, and stays so when it goes.
    for (size_t r = 0; r < rows_.size(); ++r) {
      for (size_t c = 0; basis_[r] >= missing && c < missing; ++c) {
        if (std::abs(table_[r][c]) > kTiny) pivot(r, c);
      }
    }
    table_.back().assign(end + 1, 0.0);
    table_.back()[variable] = 1.0;
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (basis_[r] == variable) subtract(table_.back(), 1.0, table_[r]);
    }
    minimise(missing);
    return -table_.back()[end];
  }

 private:
  static constexpr double kTiny = 1e-10;
  struct Row {
    std::vector<double> terms;
    double limit;
    bool exactly;
  };

  static void subtract(std::vector<double>& from, double factor, const std::vector<double>& row) {
    for (size_t c = 0; c < row.size(); ++c) from[c] -= factor * row[c];
  }
  void pivot(size_t row, size_t column) {
    const double divisor = table_[row][column];
    for (double& value : table_[row]) value /= divisor;
    for (size_t r = 0; r < table_.size(); ++r) {
      const double factor = table_[r][column];
      if (r != row && factor != 0.0) subtract(table_[r], factor, table_[row]);
    }
    basis_[row] = column;
  }
  // The last row has the costs. Always the first column that helps (Bland), so it ends.
  void minimise(size_t columns) {
    for (size_t c = 0; c < columns;) {
      if (table_.back()[c] > -kTiny) {
        ++c;
        continue;
      }
      std::optional<size_t> best;
      double least = 0.0;
      for (size_t r = 0; r + 1 < table_.size(); ++r) {
        if (table_[r][c] <= kTiny) continue;
        const double ratio = table_[r].back() / table_[r][c];
        if (!best || ratio < least || (ratio == least && basis_[r] < basis_[*best])) {
          best = r;
          least = ratio;
        }
      }
      if (!best) return;
      pivot(*best, c);
      c = 0;
    }
  }

  size_t variables_;
  std::vector<Row> rows_;
  std::vector<std::vector<double>> table_;  // Of rows_, then costs; the last column has values.
  std::vector<size_t> basis_;               // By row.
};

}  // namespace sluice::format
