#include "cli/bench_report.h"

#include "base/check.h"
#include "cli/svg_chart.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using engine::BenchPhase;
using engine::BenchPoint;
using engine::Spread;

double share(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

/// Of the measured time.
double per_second(uint64_t amount, const BenchTurn& turn) {
  return share(static_cast<double>(amount), to_seconds(turn.stats.elapsed));
}

double ms_per_token(Nanos time, const BenchTurn& turn) {
  return share(to_milliseconds(time), static_cast<double>(turn.stats.tokens));
}

uint64_t device_bytes(const BenchTurn& turn) {
  return turn.stats.reading.streamer.device_bytes_read;
}

constexpr std::array<BenchFigure, 12> kFigures = {{
    {"tokens_per_second", [](const BenchTurn& t) { return t.stats.tokens_per_second(); }},
    {"seconds", [](const BenchTurn& t) { return to_seconds(t.stats.elapsed); }},
    {"waiting_ms_per_token", [](const BenchTurn& t) { return ms_per_token(t.stats.waiting(), t); }},
    {"computing_ms_per_token",
     [](const BenchTurn& t) { return ms_per_token(t.stats.computing(), t); }},
    {"bytes_read_per_token", [](const BenchTurn& t) { return t.stats.bytes_per_token(); }},
    {"hit_share", [](const BenchTurn& t) { return t.stats.hit_share(); }},
    {"drives_busy_share", [](const BenchTurn& t) { return t.stats.busy_share(); }},
    {"weight_bytes_per_second", [](const BenchTurn& t) { return per_second(t.weight_bytes, t); }},
    {"memory_ceiling_share",
     [](const BenchTurn& t) { return share(per_second(t.weight_bytes, t), t.ceilings.memory); }},
    {"read_bytes_per_second", [](const BenchTurn& t) { return per_second(device_bytes(t), t); }},
    {"drives_ceiling_share",
     [](const BenchTurn& t) { return share(per_second(device_bytes(t), t), t.ceilings.drives); }},
    {"peak_rss_bytes", [](const BenchTurn& t) { return static_cast<double>(t.peak_rss_bytes); }},
}};

const BenchFigure& figure(std::string_view name) {
  const auto* const found = std::ranges::find(kFigures, name, &BenchFigure::name);
  SLUICE_CHECK(found != kFigures.end());
  return *found;
}

std::vector<double> values_of(const BenchFigure& figure, const std::vector<BenchTurn>& turns) {
  std::vector<double> values;
  for (const BenchTurn& turn : turns) values.push_back(figure.of(turn));
  return values;
}

/// Three digits and more, without a tail of zeros that nobody measured.
std::string digits(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0);
}

/// "(0.98 to 1.02)"; nothing of a single turn.
std::string range_text(const Spread& spread, const std::function<std::string(double)>& text,
                       uint32_t turns) {
  return turns < 2 ? "" : fmt::format("({} to {})", text(spread.min), text(spread.max));
}

/// "1 turn", "3 turns".
std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string percent(double value) { return fmt::format("{:.1f} %", 100.0 * value); }

/// A column of a point's table: its heading, and the median of a figure as text.
struct Column {
  std::string heading;
  std::string_view figure;
  std::string (*text)(double);
};

std::vector<Column> columns_of(BenchPhase phase) {
  std::vector<Column> columns = {
      {"waiting", "waiting_ms_per_token", [](double v) { return digits(v) + " ms"; }},
      {"computing", "computing_ms_per_token", [](double v) { return digits(v) + " ms"; }},
      {"GB/token", "bytes_read_per_token", [](double v) { return fmt::format("{:.3f}", v / 1e9); }},
      {"hits", "hit_share", percent},
      {"busy", "drives_busy_share", percent},
      {"of drives", "drives_ceiling_share", percent},
      {"of memory", "memory_ceiling_share", percent},
      {"peak", "peak_rss_bytes",
       [](double v) {
         return v == 0.0 ? std::string("-") : stream::human_bytes(static_cast<uint64_t>(v));
       }},
  };
  if (phase == BenchPhase::kPrefill) {
    columns.insert(columns.begin(),
                   {"first token", "seconds", [](double v) { return fmt::format("{:.3f} s", v); }});
  }
  return columns;
}

using Row = std::vector<std::string>;

/// The first column to the left, the others to the right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line = fmt::format("  {:<{}}", row[0], widths[0]);
    for (size_t c = 1; c < row.size(); ++c) {
      if (widths[c] > 0) line += fmt::format("  {:>{}}", row[c], widths[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

Row row_of(const BenchReport& report, const ArmReport& arm, size_t point,
           const std::vector<Column>& columns) {
  const std::vector<BenchTurn>& turns = arm.turns[point];
  const auto ratio_text = [](double v) { return fmt::format("{:.3f}", v); };
  Row row = {arm.name};
  const std::optional<Spread> speed = figure_spread(figure("tokens_per_second"), turns);
  if (!speed) return row;
  row.push_back(digits(speed->median));
  row.push_back(range_text(*speed, digits, report.turns));
  const std::optional<Spread> ratio = speed_ratio(turns, report.arms[0].turns[point]);
  const bool compared = ratio && report.arms.size() > 1;
  row.push_back(compared ? ratio_text(ratio->median) : "");
  row.push_back(
      compared && &arm != report.arms.data() ? range_text(*ratio, ratio_text, report.turns) : "");
  for (const Column& column : columns) {
    row.push_back(column.text(figure_spread(figure(column.figure), turns)->median));
  }
  return row;
}

std::string point_table(const BenchReport& report, const BenchPoint& point, size_t index) {
  const std::vector<Column> columns = columns_of(point.phase);
  const std::string base = report.arms.size() > 1 ? "of " + report.arms[0].name : "";
  std::vector<Row> rows = {{"arm", "tokens/s", "", base, ""}};
  for (const Column& column : columns) rows[0].push_back(column.heading);
  for (const ArmReport& arm : report.arms) rows.push_back(row_of(report, arm, index, columns));
  return fmt::format("{}, {}\n{}\n", describe(point), report.settings.cold ? "cold" : "warm",
                     aligned(rows));
}

/// A ceiling over all turns of an arm, in GB/s.
std::string ceiling_text(const ArmReport& arm, double BenchCeilings::* ceiling) {
  std::vector<double> values;
  for (const BenchTurn& turn : arm.turns[0]) values.push_back(turn.ceilings.*ceiling / 1e9);
  const std::optional<Spread> spread = engine::spread_of(values);
  if (!spread) return "nothing";
  return values.size() < 2 ? fmt::format("{:.2f} GB/s", spread->median)
                           : fmt::format("{:.2f} GB/s ({:.2f} to {:.2f})", spread->median,
                                         spread->min, spread->max);
}

std::string arm_line(const ArmReport& arm) {
  std::string line = fmt::format(
      "  {}: {}; {} planned, {}, up to {} a pass, {}\n", arm.name,
      arm.flags.empty() ? "no flags" : arm.flags, stream::human_bytes(arm.memory_bytes),
      counted(arm.threads, "thread"), counted(arm.prefill_rows, "row"), arm.read_method);
  for (const std::string& drive : arm.drives) line += fmt::format("    drive {}\n", drive);
  line +=
      fmt::format("    ceilings: drives {}, memory {}\n", ceiling_text(arm, &BenchCeilings::drives),
                  ceiling_text(arm, &BenchCeilings::memory));
  const bool direct =
      std::ranges::all_of(arm.turns[0], [](const BenchTurn& turn) { return turn.ceilings.direct; });
  if (!direct) {
    line += "    the drives' ceiling is that of the page cache: direct reads are refused there\n";
  }
  return line;
}

std::string head(const BenchReport& report) {
  const Machine& m = report.machine;
  return fmt::format("{} on {}, {}, {} of memory, {}\n{}, text: {}\n\n", report.folder, m.processor,
                     counted(m.processors, "processor"), stream::human_bytes(m.memory_bytes),
                     m.system, counted(report.turns, "turn"), report.prompt);
}

std::string meaning(const BenchReport& report) {
  std::string out =
      "Medians of the turns. Hits: experts found in memory. Busy: time with a read under way, mean "
      "of the\ndrives. Of drives: bytes read a second, of what the drives gave in the same turn "
      "with "
      "nothing else\nto do. Of memory: bytes of weights used a second (the spine once a pass, an "
      "expert "
      "once in each\npass that needs it), of what all processors read from memory in the same "
      "turn.\n";
  if (report.arms.size() > 1) {
    out += fmt::format(
        "Of {}: speeds of the same turn divided; where the range has 1 in it, no difference was "
        "seen.\n",
        report.arms[0].name);
  }
  return out + (report.finished
                    ? "All turns of all arms chose the same tokens from the same logits.\n"
                    : "Stopped early: what was measured until then.\n");
}

}  // namespace

std::span<const BenchFigure> bench_figures() { return kFigures; }

std::optional<Spread> figure_spread(const BenchFigure& figure,
                                    const std::vector<BenchTurn>& turns) {
  return engine::spread_of(values_of(figure, turns));
}

std::optional<Spread> speed_ratio(const std::vector<BenchTurn>& turns,
                                  const std::vector<BenchTurn>& base) {
  const BenchFigure& speed = figure("tokens_per_second");
  return engine::spread_of(engine::paired_ratios(values_of(speed, turns), values_of(speed, base)));
}

std::string describe(const BenchPoint& point) {
  return point.phase == BenchPhase::kPrefill
             ? fmt::format("prefill of {}", counted(point.tokens, "token"))
             : fmt::format("decode of {} at a context of {}", counted(point.tokens, "token"),
                           point.context);
}

std::string bench_text(const BenchReport& report) {
  std::string out = head(report);
  const std::vector<BenchPoint> points = engine::bench_points(report.settings);
  for (size_t p = 0; p < points.size(); ++p) out += point_table(report, points[p], p);
  out += "arms\n";
  for (const ArmReport& arm : report.arms) out += arm_line(arm);
  return out + "\n" + meaning(report);
}

std::string bench_svg(const BenchReport& report) {
  const std::vector<BenchPoint> points = engine::bench_points(report.settings);
  // Prefill is so much faster that decoding would vanish beside it.
  const BenchPhase phase = points.back().phase;
  BarChart chart;
  chart.title = fmt::format("{} of {}, {}", phase == BenchPhase::kDecode ? "Decoding" : "Prefill",
                            report.folder, report.settings.cold ? "cold" : "warm");
  chart.unit = "tokens/s";
  if (report.arms.size() > 1) {
    for (const ArmReport& arm : report.arms) chart.groups.push_back(arm.name);
  }
  for (size_t p = 0; p < points.size(); ++p) {
    if (points[p].phase != phase) continue;
    for (size_t a = 0; a < report.arms.size(); ++a) {
      const auto speed = figure_spread(figure("tokens_per_second"), report.arms[a].turns[p]);
      if (!speed) continue;
      const std::string place = phase == BenchPhase::kDecode
                                    ? fmt::format("at {} tokens", points[p].context)
                                    : fmt::format("{} tokens", points[p].tokens);
      chart.bars.push_back({.label = fmt::format("{}, {}", report.arms[a].name, place),
                            .value = speed->median,
                            .range = std::pair(speed->min, speed->max),
                            .group = a});
    }
  }
  return svg(chart);
}

}  // namespace sluice::cli
