// Without these tests a chart could show other numbers than the table, or be a file no viewer
// opens.
#include "cli/svg_chart.h"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

size_t count(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

LineChart line_chart() {
  return {.title = "Speed",
          .x_label = "tokens",
          .y_label = "tokens/s",
          .series = {{"ours", {{128, 4}, {1024, 3}, {8192, 2}}}, {"theirs", {{128, 1}, {8192, 1}}}},
          .logarithmic_x = true};
}

Timeline timeline(std::vector<Timeline::Span> spans) {
  return {.title = "Reads",
          .x_label = "seconds",
          .kinds = {"demand", "hint"},
          .rows = {{"drive", std::move(spans)}}};
}

TEST(SvgChart, ALineHasAMarkForEachPointAndNumbersOnBothAxes) {
  const std::string text = svg(line_chart());
  EXPECT_EQ(count(text, "<circle"), 5u);
  EXPECT_EQ(count(text, "class=\"curve s0\""), 1u);
  EXPECT_EQ(count(text, "class=\"curve s1\""), 1u);
  for (const char* part : {">Speed<", ">tokens<", ">tokens/s<", ">ours<", ">theirs<", ">128<",
                           ">1024<", ">8192<", ">0<", ">4<"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

// On a logarithmic axis three octaves take as much room wherever they are.
TEST(SvgChart, PowersOfTwoAreEquallyFarApart) {
  LineChart chart = line_chart();
  chart.series = {{"a", {{1, 0}, {8, 0}, {64, 0}}}};
  std::vector<double> x;
  const std::string text = svg(chart);
  for (size_t at = text.find("cx=\""); at != std::string::npos; at = text.find("cx=\"", at + 1)) {
    x.push_back(std::stod(text.substr(at + 4)));
  }
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.02);
}

TEST(SvgChart, TicksAreRoundNumbers) {
  const struct {
    double most;
    std::vector<std::string> ticks;
  } cases[] = {
      {0.7, {"0", "0.2", "0.4", "0.6", "0.8"}},
      {13.55, {"0", "5", "10", "15"}},
      {0.034, {"0", "0.01", "0.02", "0.03", "0.04"}},
      {98'000, {"0", "20000", "40000", "60000", "80000", "100000"}},
      {0, {"0", "0.2", "1"}},
  };
  for (const auto& [most, ticks] : cases) {
    const std::string text = svg(LineChart{.title = "t", .series = {{"s", {{1, 0}, {2, most}}}}});
    for (const std::string& tick : ticks) {
      EXPECT_THAT(text, HasSubstr(">" + tick + "<")) << most;
    }
  }
}

TEST(SvgChart, ABarIsAsLongAsItsValueAndSaysIt) {
  const std::string text =
      svg(BarChart{.title = "Drives",
                   .unit = "GB/s",
                   .bars = {{.label = "one", .value = 4, .range = {{3, 5}}, .group = 1},
                            {.label = "two", .value = 2}},
                   .groups = {"measured", "predicted"}});
  EXPECT_THAT(text, HasSubstr(">4 GB/s<"));
  EXPECT_THAT(text, HasSubstr(">2 GB/s<"));
  EXPECT_THAT(text, HasSubstr(">predicted<"));
  EXPECT_EQ(count(text, "class=\"whisker\""), 3u);
  std::vector<double> widths;
  for (size_t at = text.find("height=\"18\""); at != std::string::npos;
       at = text.find("height=\"18\"", at + 1)) {
    widths.push_back(std::stod(text.substr(text.rfind("width=\"", at) + 7)));
  }
  ASSERT_EQ(widths.size(), 2u);
  EXPECT_NEAR(widths[0], 2 * widths[1], 0.02);
}

TEST(SvgChart, ValuesAreShort) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},        {0.123456, "0.123"}, {1, "1"},           {1.2345, "1.23"},
      {13.55, "13.6"}, {700, "700"},        {70'123.4, "70123"}};
  for (const auto& [value, text] : cases) {
    EXPECT_THAT(svg(BarChart{.title = "t", .bars = {{.label = "b", .value = value}}}),
                HasSubstr(std::string(">") + text + "<"));
  }
}

// A row of the drawing has a lane for each kind, so the boxes of a lane are those of its kind.
TEST(SvgChart, SpansThatNobodyCouldTellApartAreOne) {
  const struct {
    std::vector<Timeline::Span> spans;
    size_t demand, hint;
  } cases[] = {
      {{{0, 4, 0}, {6, 10, 0}}, 2, 0},
      {{{0, 4, 0}, {3, 10, 0}}, 1, 0},
      {{{0, 9, 0}, {1, 2, 0}, {9.0001, 10, 0}}, 1, 0},
      {{{0, 4, 0}, {3, 10, 1}}, 1, 1},
      {{{0, 0, 0}, {10, 10, 1}}, 1, 1},
      {{}, 0, 0},
  };
  for (const auto& [spans, demand, hint] : cases) {
    const std::string text = svg(timeline(spans));
    EXPECT_EQ(count(text, "height=\"8\" class=\"f0\""), demand);
    EXPECT_EQ(count(text, "height=\"8\" class=\"f1\""), hint);
  }
}

TEST(SvgChart, ManySpansAreNoLargerThanTheScreen) {
  std::vector<Timeline::Span> spans;
  for (int i = 0; i < 200'000; ++i) spans.push_back({i * 1.0, i + 0.5, static_cast<size_t>(i % 2)});
  EXPECT_LT(svg(timeline(spans)).size(), 200'000u);
}

TEST(SvgChart, EveryTextIsWellFormed) {
  Timeline chart = timeline({{0, 1, 0}});
  chart.title = "a < b & \"c\"\n";
  chart.rows[0].name = "\xFF>drive";
  const std::string text = svg(chart);
  EXPECT_THAT(text, HasSubstr("a &lt; b &amp; &quot;c&quot;\xEF\xBF\xBD"));
  EXPECT_THAT(text, HasSubstr("\xEF\xBF\xBD&gt;drive"));
  EXPECT_THAT(text, Not(HasSubstr("\xFF")));
}

TEST(SvgChart, LongNamesOfRowsKeepTheirEnds) {
  Timeline chart = timeline({{0, 1, 0}});
  chart.rows[0].name = "/" + std::string(200, 'x') + "/fast";
  const std::string text = svg(chart);
  EXPECT_THAT(text, HasSubstr("xx/fast<"));
  EXPECT_THAT(text, HasSubstr(">…x"));
  EXPECT_THAT(text, Not(HasSubstr(std::string(100, 'x'))));
}

TEST(SvgChart, WhatIsNoNumberIsLeftOut) {
  LineChart lines = line_chart();
  lines.series[0].points = {{128, kNan}, {0, 1}, {256, 1}};
  lines.series[1].points = {};
  EXPECT_EQ(count(svg(lines), "<circle"), 1u);
  const BarChart bars{.title = "t",
                      .bars = {{.label = "bad", .value = kNan},
                               {.label = "good", .value = 1, .range = {{kNan, 1}}}}};
  for (const std::string& text : {svg(lines), svg(bars), svg(timeline({{kNan, 1, 0}}))}) {
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf")));
  }
  EXPECT_THAT(svg(bars), Not(HasSubstr("bad")));
  EXPECT_THAT(svg(bars), Not(HasSubstr("whisker\"/>")));
}

TEST(SvgChart, NothingIsAChartToo) {
  for (const std::string& text : {svg(LineChart{}), svg(BarChart{}), svg(Timeline{})}) {
    EXPECT_THAT(text, HasSubstr("<svg "));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
  }
}

TEST(SvgChart, TheSameDataGiveTheSameText) { EXPECT_EQ(svg(line_chart()), svg(line_chart())); }

}  // namespace
}  // namespace sluice::cli
