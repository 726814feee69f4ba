#include "cli/svg_chart.h"

#include "cli/svg_canvas.h"

#include <algorithm>
#include <cmath>

namespace sluice::cli {
namespace {

constexpr double kMargin = 16;
constexpr double kTop = 44;  // Under the title.
constexpr double kLabelMax = 240;

/// Three digits are what a reader compares; large numbers are whole.
std::string value_text(double value) {
  const double size = std::abs(value);
  const double digits = size > 0 ? std::floor(std::log10(size)) : 0;
  return short_number(value, std::clamp(static_cast<int>(2 - digits), 0, 6));
}

/// The series without what cannot be drawn.
std::vector<ChartSeries> drawable(const LineChart& chart) {
  std::vector<ChartSeries> all = chart.series;
  for (ChartSeries& series : all) {
    std::erase_if(series.points, [&](const std::pair<double, double>& point) {
      return !std::isfinite(point.first) || !std::isfinite(point.second) ||
             (chart.logarithmic_x && point.first <= 0);
    });
  }
  return all;
}

struct Range {
  double low = 0, high = 0;
  bool empty = true;
  void add(double value) {
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
};

/// The column of names at the left of rows.
double label_width(const std::vector<std::string>& labels) {
  double width = 0;
  for (const std::string& label : labels) width = std::max(width, text_width(label));
  return std::min(width, kLabelMax);
}

/// Begin and end in pixels of what a row shows of one kind: spans that touch are one.
std::vector<std::pair<double, double>> visible_spans(const Timeline::Row& row, size_t kind,
                                                     const Scale& x) {
  constexpr double kApart = 0.5, kLeast = 0.6;
  std::vector<std::pair<double, double>> spans;
  for (const Timeline::Span& span : row.spans) {
    if (span.kind != kind || !std::isfinite(span.begin) || !std::isfinite(span.end)) continue;
    const double begin = x.at(span.begin), end = std::max(x.at(span.end), begin + kLeast);
    if (!spans.empty() && begin <= spans.back().second + kApart) {
      spans.back().second = std::max(spans.back().second, end);
    } else {
      spans.emplace_back(begin, end);
    }
  }
  return spans;
}

/// The kinds of a row, each of which gets a lane.
std::vector<size_t> kinds_of(const Timeline::Row& row) {
  std::vector<size_t> kinds;
  for (const Timeline::Span& span : row.spans) {
    if (std::ranges::find(kinds, span.kind) == kinds.end()) kinds.push_back(span.kind);
  }
  std::ranges::sort(kinds);
  return kinds;
}

}  // namespace

std::string svg(const LineChart& chart) {
  constexpr double kWidth = 720, kPlotHeight = 280;
  const std::vector<ChartSeries> all = drawable(chart);
  Range x_range, y_range;
  y_range.add(0);
  std::vector<std::string> names;
  for (const ChartSeries& series : all) {
    names.push_back(series.name);
    for (const auto& [x, y] : series.points) x_range.add(x), y_range.add(y);
  }
  if (x_range.empty) x_range.add(1);

  SvgCanvas canvas(kWidth);
  canvas.title(chart.title);
  const double top = canvas.legend(names, kMargin, kTop) + 8;
  Scale y = linear_scale(y_range.low, y_range.high, 5);
  Scale x = chart.logarithmic_x ? power_scale(x_range.low, x_range.high, 10)
                                : linear_scale(x_range.low, x_range.high, 8);
  double numbers = 0;
  for (const double tick : y.ticks) {
    numbers = std::max(numbers, text_width(short_number(tick, y.decimals)));
  }
  const double left = kMargin + 22 + numbers + 8;
  const Box plot{left, top, kWidth - left - 32, kPlotHeight};
  x.from = plot.x, x.to = plot.x + plot.width;
  y.from = plot.y + plot.height, y.to = plot.y;
  canvas.grid_x(x, plot);
  canvas.grid_y(y, plot);
  canvas.line({plot.x, y.at(0)}, {plot.x + plot.width, y.at(0)}, "axis");
  for (size_t s = 0; s < all.size(); ++s) {
    std::vector<Mark> marks;
    for (const auto& [px, py] : all[s].points) marks.push_back({x.at(px), y.at(py)});
    if (!marks.empty()) canvas.curve(marks, s);
  }
  canvas.vertical_text({kMargin + 8, plot.y + plot.height / 2}, chart.y_label);
  const double bottom = plot.y + plot.height + 38;
  canvas.text({plot.x + plot.width / 2, bottom}, Anchor::kMiddle, "faint", chart.x_label);
  return canvas.finish(bottom + kMargin);
}

std::string svg(const BarChart& chart) {
  constexpr double kWidth = 720, kBar = 18, kStep = 28, kValueWidth = 110;
  std::vector<ChartBar> bars = chart.bars;
  std::erase_if(bars, [](const ChartBar& bar) { return !std::isfinite(bar.value); });
  std::vector<std::string> labels;
  Range range;
  range.add(0);
  for (ChartBar& bar : bars) {
    labels.push_back(bar.label);
    range.add(bar.value);
    if (bar.range && !(std::isfinite(bar.range->first) && std::isfinite(bar.range->second))) {
      bar.range.reset();
    }
    if (bar.range) range.add(bar.range->first), range.add(bar.range->second);
  }

  SvgCanvas canvas(kWidth);
  canvas.title(chart.title);
  const double top = canvas.legend(chart.groups, kMargin, kTop) + 4;
  const double left = kMargin + label_width(labels) + 10;
  Scale x = exact_scale(range.low, range.high, 5);
  x.from = left, x.to = kWidth - kMargin - kValueWidth;
  const Box plot{left, top, x.to - left, kStep * static_cast<double>(bars.size())};
  for (size_t i = 0; i < bars.size(); ++i) {
    const ChartBar& bar = bars[i];
    const double y = top + kStep * static_cast<double>(i) + (kStep - kBar) / 2;
    canvas.text({left - 10, y + 13}, Anchor::kEnd, "label", fitting_end(bar.label, kLabelMax));
    const auto [begin, end] = std::minmax({x.at(0), x.at(bar.value)});
    canvas.box({begin, y, end - begin, kBar}, bar.group);
    double right = end;
    if (bar.range) {
      const double low = x.at(bar.range->first), high = x.at(bar.range->second);
      const double middle = y + kBar / 2;
      canvas.line({low, middle}, {high, middle}, "whisker");
      canvas.line({low, middle - 4}, {low, middle + 4}, "whisker");
      canvas.line({high, middle - 4}, {high, middle + 4}, "whisker");
      right = std::max(right, high);
    }
    canvas.text({right + 8, y + 13}, Anchor::kStart, "label",
                value_text(bar.value) + (chart.unit.empty() ? "" : " " + chart.unit));
  }
  canvas.line({x.at(0), plot.y}, {x.at(0), plot.y + plot.height}, "axis");
  return canvas.finish(plot.y + plot.height + kMargin);
}

std::string svg(const Timeline& chart) {
  constexpr double kWidth = 1080, kLane = 9, kRowGap = 12, kRowLeast = 16;
  Range range;
  std::vector<std::string> labels;
  for (const Timeline::Row& row : chart.rows) {
    labels.push_back(row.name);
    for (const Timeline::Span& span : row.spans) {
      if (std::isfinite(span.begin)) range.add(span.begin);
      if (std::isfinite(span.end)) range.add(span.end);
    }
  }

  SvgCanvas canvas(kWidth);
  canvas.title(chart.title);
  const double top = canvas.legend(chart.kinds, kMargin, kTop) + 4;
  const double left = kMargin + label_width(labels) + 12;
  Scale x = exact_scale(range.low, range.high, 10);
  x.from = left, x.to = kWidth - kMargin - 12;
  std::vector<double> heights;
  double height = 0;
  for (const Timeline::Row& row : chart.rows) {
    heights.push_back(std::max(kLane * static_cast<double>(kinds_of(row).size()), kRowLeast) +
                      kRowGap);
    height += heights.back();
  }
  const Box plot{left, top, x.to - left, height};
  canvas.grid_x(x, plot);
  double y = top;
  for (size_t r = 0; r < chart.rows.size(); ++r) {
    const Timeline::Row& row = chart.rows[r];
    canvas.line({kMargin, y}, {x.to, y}, "grid");
    canvas.text({left - 12, y + heights[r] / 2 + 4}, Anchor::kEnd, "label",
                fitting_end(row.name, kLabelMax));
    const std::vector<size_t> kinds = kinds_of(row);
    double lane = y + (heights[r] - kLane * static_cast<double>(kinds.size())) / 2;
    for (const size_t kind : kinds) {
      for (const auto& [begin, end] : visible_spans(row, kind, x)) {
        canvas.box({begin, lane, end - begin, kLane - 1}, kind);
      }
      lane += kLane;
    }
    y += heights[r];
  }
  canvas.line({left, y}, {x.to, y}, "axis");
  canvas.text({left + plot.width / 2, y + 38}, Anchor::kMiddle, "faint", chart.x_label);
  return canvas.finish(y + 38 + kMargin);
}

}  // namespace sluice::cli
