#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {

/// Charts as SVG documents of their own: readable on light and on dark ground, without scripts,
/// fonts or links, the same text for the same data. Numbers that are not finite are left out.

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points{};  ///< x ascending.
};

/// Lines with marks over two axes from zero (the horizontal one from its least value).
struct LineChart {
  std::string title{}, x_label{}, y_label{};
  std::vector<ChartSeries> series{};
  bool logarithmic_x = false;  ///< By powers of two; all x are positive.
};

struct ChartBar {
  std::string label;
  double value = 0;
  std::optional<std::pair<double, double>> range{};  ///< Drawn as a whisker.
  size_t group = 0;                                  ///< Bars of one group share a colour.
};

/// Horizontal bars, one below the other, with their values.
struct BarChart {
  std::string title{}, unit{};
  std::vector<ChartBar> bars{};
  std::vector<std::string> groups{};  ///< For the legend; may be empty.
};

/// What happened when, a row for each drive and the like.
struct Timeline {
  struct Span {
    double begin = 0, end = 0;
    size_t kind = 0;  ///< Index into `kinds`.
  };
  struct Row {
    std::string name;
    std::vector<Span> spans{};  ///< `begin` ascending; they may overlap.
  };
  std::string title{}, x_label{};
  std::vector<std::string> kinds{};  ///< For the legend; each has a colour.
  std::vector<Row> rows{};
};

/// Neighbouring spans of a kind that no screen could tell apart are drawn as one.
[[nodiscard]] std::string svg(const LineChart& chart);
[[nodiscard]] std::string svg(const BarChart& chart);
[[nodiscard]] std::string svg(const Timeline& chart);

}  // namespace sluice::cli
