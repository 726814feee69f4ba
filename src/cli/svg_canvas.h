#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::cli {

/// What the charts of svg_chart.h are drawn with. Lengths are in pixels of the view box, y
/// downwards.

inline constexpr double kFontSize = 12;
inline constexpr size_t kColours = 8;  ///< Further series begin anew.

/// A number as people write it, with at most so many decimals: "0.25", "13", "131072".
[[nodiscard]] std::string short_number(double value, int decimals);
/// For XML: without what ends a text, control characters, or bytes that are no UTF-8.
[[nodiscard]] std::string svg_text(std::string_view text);
/// About the width of a text in the font of a reader whom we do not know.
[[nodiscard]] double text_width(std::string_view text);
/// The text, or its end behind an ellipsis when it is wider: folders differ at their ends.
[[nodiscard]] std::string fitting_end(const std::string& text, double width);

/// Where a value lies on an axis.
struct Scale {
  double low = 0, high = 1;     ///< Values; low < high.
  double from = 0, to = 1;      ///< Their places.
  bool logarithmic = false;     ///< By powers of two; low > 0.
  std::vector<double> ticks{};  ///< Values that the reader finds easy.
  int decimals = 0;             ///< Of their numbers.

  [[nodiscard]] double at(double value) const;
};
/// From a little below `low` to a little above `high`, in steps of 1, 2 or 5 times a power of ten,
/// about `steps` of them.
[[nodiscard]] Scale linear_scale(double low, double high, int steps);
/// As little as holds these values exactly, with ticks as above between them.
[[nodiscard]] Scale exact_scale(double low, double high, int steps);
/// From one power of two to another; 0 < low <= high.
[[nodiscard]] Scale power_scale(double low, double high, int steps);

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};
struct Mark {
  double x = 0, y = 0;
};
enum class Anchor { kStart, kMiddle, kEnd };

/// Elements as they are drawn. Names of classes are those of its style sheet.
class SvgCanvas {
 public:
  explicit SvgCanvas(double width) : width_(width) {}

  [[nodiscard]] double width() const { return width_; }
  void title(const std::string& text);
  /// In lines of the width; returns where the next thing may be drawn.
  double legend(const std::vector<std::string>& names, double x, double y);
  void text(Mark at, Anchor anchor, std::string_view css, const std::string& text);
  /// Upwards along an axis.
  void vertical_text(Mark middle, const std::string& text);
  void line(Mark from, Mark to, std::string_view css);
  void box(const Box& box, size_t colour);
  void curve(std::span<const Mark> marks, size_t colour);
  /// Gridlines and numbers of a horizontal or a vertical axis of a plot.
  void grid_x(const Scale& x, const Box& plot);
  void grid_y(const Scale& y, const Box& plot);

  /// The document.
  [[nodiscard]] std::string finish(double height) const;

 private:
  double width_;
  std::string title_, body_;
};

}  // namespace sluice::cli
