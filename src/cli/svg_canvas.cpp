#include "cli/svg_canvas.h"

#include "text/utf8.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

// Plain classes rather than variables: programs that draw SVG for other documents know only those.
// Each drawing has a ground of its own, as a page may be dark where the reader's system is light.
constexpr std::string_view kStyle = R"(<style>
  text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
         fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .faint { fill: #656d76 }
  .ground { fill: #ffffff }
  .grid { stroke: #e4e7eb; stroke-width: 1 }
  .axis { stroke: #9aa2ab; stroke-width: 1 }
  .whisker { stroke: #24292f; stroke-width: 1.25 }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
  .f0 { fill: #2f6fb7 } .f1 { fill: #e08b2c } .f2 { fill: #3b9450 } .f3 { fill: #c8453b }
  .f4 { fill: #7d5ba6 } .f5 { fill: #2796a3 } .f6 { fill: #c2588f } .f7 { fill: #85898e }
  .s0 { stroke: #2f6fb7 } .s1 { stroke: #e08b2c } .s2 { stroke: #3b9450 } .s3 { stroke: #c8453b }
  .s4 { stroke: #7d5ba6 } .s5 { stroke: #2796a3 } .s6 { stroke: #c2588f } .s7 { stroke: #85898e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .ground { fill: #0d1117 }
    .grid { stroke: #262c36 } .axis { stroke: #656c76 } .whisker { stroke: #e6edf3 }
    .f0 { fill: #6ea8e6 } .f1 { fill: #eba557 } .f2 { fill: #63bd78 } .f3 { fill: #ef7d73 }
    .f4 { fill: #b394d6 } .f5 { fill: #56bcc8 } .f6 { fill: #e58ab8 } .f7 { fill: #a3a8ae }
    .s0 { stroke: #6ea8e6 } .s1 { stroke: #eba557 } .s2 { stroke: #63bd78 }
    .s3 { stroke: #ef7d73 } .s4 { stroke: #b394d6 } .s5 { stroke: #56bcc8 }
    .s6 { stroke: #e58ab8 } .s7 { stroke: #a3a8ae }
  }
</style>
)";

std::string place(double pixels) { return short_number(pixels, 2); }

/// 1, 2 or 5 times a power of ten.
double nice_step(double range, int steps) {
  const double rough = range / steps;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

Scale stepped(double low, double high, double step) {
  Scale scale{.low = low, .high = high};
  scale.decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
  for (double i = std::ceil(low / step - 1e-6); i * step <= high + step * 1e-6; ++i) {
    scale.ticks.push_back(i * step);
  }
  return scale;
}

}  // namespace

std::string short_number(double value, int decimals) {
  std::string number = fmt::format("{:.{}f}", value, decimals);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return number == "-0" ? "0" : number;
}

std::string svg_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const text::Utf8Step step = text::first_scalar(text);
    const std::string_view bytes = text.substr(0, step.length);
    text.remove_prefix(step.length);
    if (step.kind != text::Utf8Step::Kind::kScalar || step.scalar < U' ' ||
        step.scalar == U'\uFFFE' || step.scalar == U'\uFFFF') {
      out += text::kReplacement;
    } else if (bytes == "&") {
      out += "&amp;";
    } else if (bytes == "<") {
      out += "&lt;";
    } else if (bytes == ">") {
      out += "&gt;";
    } else if (bytes == "\"") {
      out += "&quot;";
    } else {
      out += bytes;
    }
  }
  return out;
}

double text_width(std::string_view text) {
  // Bytes that go on with a character take no room of their own.
  const auto characters =
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; });
  return static_cast<double>(characters) * kFontSize * 0.56;
}

std::string fitting_end(const std::string& text, double width) {
  if (text_width(text) <= width) return text;
  const std::string ellipsis = "…";
  size_t begin = 0;
  while (begin < text.size() && text_width(ellipsis + text.substr(begin)) > width) {
    do {
      ++begin;
    } while (begin < text.size() && (text[begin] & 0xC0) == 0x80);
  }
  return ellipsis + text.substr(begin);
}

double Scale::at(double value) const {
  const double share =
      logarithmic ? std::log2(value / low) / std::log2(high / low) : (value - low) / (high - low);
  return from + share * (to - from);
}

Scale linear_scale(double low, double high, int steps) {
  if (!(high > low)) high = low + 1;
  const double step = nice_step(high - low, steps);
  return stepped(std::floor(low / step + 1e-6) * step, std::ceil(high / step - 1e-6) * step, step);
}

Scale exact_scale(double low, double high, int steps) {
  if (!(high > low)) high = low + 1;
  return stepped(low, high, nice_step(high - low, steps));
}

Scale power_scale(double low, double high, int steps) {
  const double first = std::floor(std::log2(low) + 1e-9);
  const double last = std::max(std::ceil(std::log2(high) - 1e-9), first + 1);
  Scale scale{.low = std::exp2(first), .high = std::exp2(last), .logarithmic = true};
  const double step = std::ceil((last - first) / steps);
  for (double power = first; power <= last; power += step) scale.ticks.push_back(std::exp2(power));
  scale.decimals = std::clamp(static_cast<int>(-first), 0, 9);
  return scale;
}

void SvgCanvas::title(const std::string& title) {
  title_ = title;
  text({16, 28}, Anchor::kStart, "title", title);
}

double SvgCanvas::legend(const std::vector<std::string>& names, double x, double y) {
  constexpr double kSwatch = 10, kGap = 18, kLine = 18;
  double at = x;
  for (size_t i = 0; i < names.size(); ++i) {
    const double wide = kSwatch + 6 + text_width(names[i]);
    if (at > x && at + wide > width_ - 16) {
      at = x;
      y += kLine;
    }
    box({at, y, kSwatch, kSwatch}, i);
    text({at + kSwatch + 6, y + 9.5}, Anchor::kStart, "faint", names[i]);
    at += wide + kGap;
  }
  return names.empty() ? y : y + kLine;
}

void SvgCanvas::text(Mark at, Anchor anchor, std::string_view css, const std::string& text) {
  constexpr std::string_view kAnchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"{} class=\"{}\">{}</text>\n", place(at.x),
                       place(at.y), kAnchors[static_cast<size_t>(anchor)], css, svg_text(text));
}

void SvgCanvas::vertical_text(Mark middle, const std::string& text) {
  body_ += fmt::format(
      "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\" class=\"faint\">"
      "{}</text>\n",
      place(middle.x), place(middle.y), svg_text(text));
}

void SvgCanvas::line(Mark from, Mark to, std::string_view css) {
  body_ += fmt::format("<path d=\"M{} {}L{} {}\" class=\"{}\"/>\n", place(from.x), place(from.y),
                       place(to.x), place(to.y), css);
}

void SvgCanvas::box(const Box& box, size_t colour) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"f{}\"/>\n",
                       place(box.x), place(box.y), place(box.width), place(box.height),
                       colour % kColours);
}

void SvgCanvas::curve(std::span<const Mark> marks, size_t colour) {
  std::string way;
  for (const Mark& mark : marks) {
    way += fmt::format("{}{} {}", way.empty() ? 'M' : 'L', place(mark.x), place(mark.y));
  }
  body_ += fmt::format("<path d=\"{}\" class=\"curve s{}\"/>\n", way, colour % kColours);
  for (const Mark& mark : marks) {
    body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\" class=\"f{}\"/>\n", place(mark.x),
                         place(mark.y), colour % kColours);
  }
}

void SvgCanvas::grid_x(const Scale& x, const Box& plot) {
  const double bottom = plot.y + plot.height;
  for (const double tick : x.ticks) {
    line({x.at(tick), plot.y}, {x.at(tick), bottom}, "grid");
    text({x.at(tick), bottom + 17}, Anchor::kMiddle, "faint", short_number(tick, x.decimals));
  }
}

void SvgCanvas::grid_y(const Scale& y, const Box& plot) {
  for (const double tick : y.ticks) {
    line({plot.x, y.at(tick)}, {plot.x + plot.width, y.at(tick)}, "grid");
    text({plot.x - 8, y.at(tick) + 4}, Anchor::kEnd, "faint", short_number(tick, y.decimals));
  }
}

std::string SvgCanvas::finish(double height) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n{3}<rect class=\"ground\" "
      "width=\"{0}\" height=\"{1}\" rx=\"6\"/>\n{4}</svg>\n",
      place(width_), place(height), svg_text(title_), kStyle, body_);
}

}  // namespace sluice::cli
