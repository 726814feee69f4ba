#include "cli/report_text.h"

#include "cli/text_table.h"
#include "stream/reading_counters.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using stream::DriveReads;
using stream::LayerReads;

double gigabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

double per(double amount, double count) { return count == 0 ? 0.0 : amount / count; }
double percent(uint64_t part, uint64_t whole) {
  return 100 * per(static_cast<double>(part), static_cast<double>(whole));
}
double mean(Nanos time, uint64_t count) {
  return per(to_milliseconds(time), static_cast<double>(count));
}

uint64_t sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

/// Bytes of one priority, of all drives.
uint64_t bytes_of(const std::vector<DriveReads>& drives, size_t priority) {
  uint64_t bytes = 0;
  for (const DriveReads& drive : drives) bytes += drive.bytes[priority];
  return bytes;
}

std::string times_line(const stream::ReadSummary& summary) {
  const double all = to_seconds(summary.span().end - summary.span().begin);
  const stream::WaitTotals waiting = summary.waiting();
  return fmt::format(
      "time     {:.3f} s: waiting for reads {:.3f} s ({:.1f} %; experts {:.3f} s, spine {:.3f} s), "
      "computing or idle {:.3f} s\n",
      all, to_seconds(waiting.all()), 100 * per(to_seconds(waiting.all()), all),
      to_seconds(waiting.experts), to_seconds(waiting.spine), all - to_seconds(waiting.all()));
}

std::string bytes_line(const TraceReport& report, const std::vector<DriveReads>& drives) {
  uint64_t all = 0, wasted = 0;
  std::string kinds;
  for (size_t p = 0; p < report.header.priorities.size(); ++p) {
    const uint64_t bytes = bytes_of(drives, p);
    all += bytes;
    kinds += fmt::format("{}{} {:.3f} GB", p == 0 ? "" : ", ", report.header.priorities[p],
                         gigabytes(bytes));
  }
  for (const DriveReads& drive : drives) wasted += drive.bytes_wasted;
  return fmt::format("bytes    {:.3f} GB: {}; {:.3f} GB of hints were given up unused\n",
                     gigabytes(all), kinds, gigabytes(wasted));
}

std::string experts_line(const TraceReport& report, const std::vector<LayerReads>& layers) {
  uint64_t experts = 0, missed = 0;
  for (const LayerReads& layer : layers) experts += layer.experts, missed += layer.missed;
  return fmt::format(
      "experts  {} of {} in memory when asked for ({:.1f} %); {} layers waited for "
      "reads\n",
      experts - missed, experts, percent(experts - missed, experts), report.summary.barriers());
}

std::string drive_table(const TraceReport& report, const std::vector<DriveReads>& drives) {
  TextTable table({"drive", "demand GB", "hint GB", "fill GB", "wasted %", "GB/s", "busy %",
                   "queue MB", "reads", "failed", "p50 ms", "p99 ms", "last", "behind ms"});
  const Nanos span = report.summary.span().end - report.summary.span().begin;
  for (size_t d = 0; d < drives.size(); ++d) {
    const DriveReads& drive = drives[d];
    uint64_t demand = 0, hint = 0, fill = 0;
    for (size_t p = 0; p < drive.bytes.size(); ++p) {
      const auto priority = static_cast<stream::Priority>(p);
      (is_demand(priority)                   ? demand
       : priority == stream::Priority::kHint ? hint
                                             : fill) += drive.bytes[p];
    }
    const uint64_t reads = sum(drive.reads), good = drive.reads.empty() ? 0 : drive.reads[0];
    table.add({report.header.drives[d], fmt::format("{:.3f}", gigabytes(demand)),
               fmt::format("{:.3f}", gigabytes(hint)), fmt::format("{:.3f}", gigabytes(fill)),
               fmt::format("{:.1f}", percent(drive.bytes_wasted, hint)),
               fmt::format("{:.3f}", drive.rate() / 1e9),
               fmt::format("{:.1f}", 100 * per(to_seconds(drive.busy), to_seconds(span))),
               fmt::format("{:.2f}", static_cast<double>(drive.queued_bytes) / 1e6),
               fmt::format("{}", reads), fmt::format("{}", reads - good),
               fmt::format("{:.3f}", to_milliseconds(drive.p50)),
               fmt::format("{:.3f}", to_milliseconds(drive.p99)), fmt::format("{}", drive.last),
               fmt::format("{:.3f}", mean(drive.behind, drive.last))});
  }
  return table.text();
}

/// Who ended most of a layer's barriers: "/mnt/a 71 %".
std::string last_most(const LayerReads& layer, const std::vector<std::string>& drives) {
  const auto most = std::ranges::max_element(layer.last);
  if (most == layer.last.end() || *most == 0) return "-";
  return fmt::format("{} {:.0f} %", drives[static_cast<size_t>(most - layer.last.begin())],
                     percent(*most, sum(layer.last)));
}

std::string layer_table(const TraceReport& report, const std::vector<LayerReads>& layers) {
  TextTable table({"layer", "requests", "hit %", "missed GB", "waiting ms", "spine ms",
                   "computing ms", "behind ms", "hint GB", "wasted %", "last most often"});
  for (size_t i = 0; i < layers.size(); ++i) {
    const LayerReads& layer = layers[i];
    const Nanos computing = layer.time - layer.waiting_experts - layer.waiting_spine;
    table.add({fmt::format("{}", report.header.experts[i].layer), fmt::format("{}", layer.requests),
               fmt::format("{:.1f}", percent(layer.experts - layer.missed, layer.experts)),
               fmt::format("{:.3f}", gigabytes(layer.bytes_missed)),
               fmt::format("{:.3f}", mean(layer.waiting_experts, layer.requests)),
               fmt::format("{:.3f}", mean(layer.waiting_spine, layer.requests)),
               fmt::format("{:.3f}", mean(std::max(computing, Nanos{}), layer.requests)),
               fmt::format("{:.3f}", mean(layer.behind, sum(layer.last))),
               fmt::format("{:.3f}", gigabytes(layer.bytes_hinted)),
               fmt::format("{:.1f}", percent(layer.bytes_wasted, layer.bytes_hinted)),
               last_most(layer, report.header.drives)});
  }
  return table.text();
}

/// What the totals mean.
std::string meaning(const stream::ReadSummary& summary) {
  const double all = to_seconds(summary.span().end - summary.span().begin);
  const double waiting = per(to_seconds(summary.waiting().all()), all);
  return fmt::format("The engine waited for reads {:.0f} % of the time: {}.\n", 100 * waiting,
                     waiting >= 0.5 ? "more memory or faster drives would help most"
                                    : "faster drives alone would not make it twice as fast");
}

}  // namespace

std::string report_text(const TraceReport& report, bool layers) {
  const std::vector<DriveReads> drives = report.summary.drives();
  const std::vector<LayerReads> by_layer = report.summary.layers();
  std::string out = verdict(report.header, report.health) + "\n\n";
  out += times_line(report.summary) + bytes_line(report, drives) + experts_line(report, by_layer);
  out += fmt::format("reads    {}, {} of them after another had failed\n\n", report.summary.reads(),
                     report.summary.retries());
  out += drive_table(report, drives) + "\n";
  if (layers) out += layer_table(report, by_layer) + "\n";
  return out + meaning(report.summary);
}

}  // namespace sluice::cli
