#include "cli/drives_report.h"

#include "base/types.h"
#include "cli/size_text.h"
#include "cli/svg_chart.h"
#include "cli/text_table.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

// What a token of Kimi K3 uses of experts: 16 of 17,547,264 bytes in each of 92 layers.
constexpr double kTokenBytes = 16.0 * 92 * 17'547'264;

std::string gigabytes(double bytes) { return fmt::format("{:.2f}", bytes / 1e9); }

std::string setting_text(const io::ReadSetting& setting) {
  return fmt::format("{} reads of {}", setting.depth, read_size_text(setting.bytes));
}

std::string text_of(const MeasuredDrive& drive) {
  if (!drive.refused.empty())
    return fmt::format("{}: no figures: {}.\n", drive.name, drive.refused);
  TextTable table({"read", "in flight", "GB/s", "p50 ms", "p90 ms", "p99 ms"});
  for (const io::ReadCell& cell : drive.cells) {
    table.add({read_size_text(cell.setting.bytes), std::to_string(cell.setting.depth),
               gigabytes(cell.bytes_per_second),
               fmt::format("{:.3f}", to_milliseconds(cell.latency.p50)),
               fmt::format("{:.3f}", to_milliseconds(cell.latency.p90)),
               fmt::format("{:.3f}", to_milliseconds(cell.latency.p99))});
  }
  std::string out = fmt::format("{}\n{}", drive.name, table.text());
  out += fmt::format(
      "Ceiling {} GB/s, with {} in flight; {} ({}) give 95 % of it. The experts of a token of "
      "Kimi K3, {:.1f} GB, take {:.1f} s at that rate.\n",
      gigabytes(drive.ceiling.bytes_per_second), setting_text(drive.ceiling.at),
      setting_text(drive.ceiling.enough), read_size_text(drive.ceiling.enough.window()),
      kTokenBytes / 1e9, kTokenBytes / drive.ceiling.bytes_per_second);
  if (drive.write_bytes_per_second > 0) {
    out += fmt::format("Its file of {} GB was written at {} GB/s, a call after the other.\n",
                       gigabytes(static_cast<double>(drive.file_bytes)),
                       gigabytes(drive.write_bytes_per_second));
  }
  return out;
}

std::string text_of(const DrivesTogether& together, const std::vector<MeasuredDrive>& drives) {
  TextTable table({"all together", "setting", "GB/s", "of alone %", "p50 ms", "p99 ms"});
  auto cell = together.drives.begin();
  for (const MeasuredDrive& drive : drives) {
    if (!drive.refused.empty()) continue;
    table.add({drive.name, setting_text(cell->setting), gigabytes(cell->bytes_per_second),
               fmt::format("{:.1f}", 100 * cell->bytes_per_second / drive.ceiling.bytes_per_second),
               fmt::format("{:.3f}", to_milliseconds(cell->latency.p50)),
               fmt::format("{:.3f}", to_milliseconds(cell->latency.p99))});
    ++cell;
  }
  const double share = together.bytes_per_second / together.sum_of_ceilings;
  constexpr double kAddUp = 0.9;
  return table.text() + fmt::format("Together {} GB/s, {:.0f} % of the {} GB/s of each alone{}.\n",
                                    gigabytes(together.bytes_per_second), 100 * share,
                                    gigabytes(together.sum_of_ceilings),
                                    share >= kAddUp
                                        ? ""
                                        : ": they share something that is too slow, for instance a "
                                          "disk, a hub, a port or the processor");
}

Json json_of(const io::ReadSetting& setting) {
  return {{"read_bytes", setting.bytes}, {"depth", setting.depth}};
}

Json json_of(const io::ReadCell& cell) {
  Json out = json_of(cell.setting);
  out["bytes_per_second"] = cell.bytes_per_second;
  out["reads"] = cell.reads;
  out["p50_ms"] = to_milliseconds(cell.latency.p50);
  out["p90_ms"] = to_milliseconds(cell.latency.p90);
  out["p99_ms"] = to_milliseconds(cell.latency.p99);
  return out;
}

Json json_of(const MeasuredDrive& drive) {
  Json out = {{"paths", drive.paths}};
  if (!drive.refused.empty()) {
    out["refused"] = drive.refused;
    return out;
  }
  out["file_bytes"] = drive.file_bytes;
  out["ceiling_bytes_per_second"] = drive.ceiling.bytes_per_second;
  out["ceiling_at"] = json_of(drive.ceiling.at);
  out["enough"] = json_of(drive.ceiling.enough);
  out["enough_window_bytes"] = drive.ceiling.enough.window();
  if (drive.write_bytes_per_second > 0) {
    out["write_bytes_per_second"] = drive.write_bytes_per_second;
  }
  out["sweep"] = Json::array();
  for (const io::ReadCell& cell : drive.cells) out["sweep"].push_back(json_of(cell));
  return out;
}

/// Rates by size, of cells with this depth; of any depth the best, where it is 0.
std::vector<std::pair<double, double>> points(const std::vector<io::ReadCell>& cells,
                                              uint32_t depth) {
  std::vector<std::pair<double, double>> out;
  for (const io::ReadCell& cell : cells) {
    if (depth != 0 && cell.setting.depth != depth) continue;
    const double kibibytes = static_cast<double>(cell.setting.bytes) / 1024;
    const double rate = cell.bytes_per_second / 1e9;
    const auto same = std::ranges::find(out, kibibytes, &std::pair<double, double>::first);
    if (same == out.end()) {
      out.emplace_back(kibibytes, rate);
    } else {
      same->second = std::max(same->second, rate);
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::string text_of(const DrivesReport& report) {
  std::string out;
  for (const MeasuredDrive& drive : report.drives) out += text_of(drive) + "\n";
  if (report.together) out += text_of(*report.together, report.drives) + "\n";
  return out + fmt::format("Reads at random places, by {}.\n", report.method);
}

std::string json_of(const DrivesReport& report) {
  Json out = {{"method", report.method}, {"drives", Json::array()}};
  for (const MeasuredDrive& drive : report.drives) out["drives"].push_back(json_of(drive));
  if (report.together) {
    out["together"] = {{"bytes_per_second", report.together->bytes_per_second},
                       {"sum_of_ceilings_bytes_per_second", report.together->sum_of_ceilings},
                       {"drives", Json::array()}};
    for (const io::ReadCell& cell : report.together->drives) {
      out["together"]["drives"].push_back(json_of(cell));
    }
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string svg_of(const DrivesReport& report) {
  LineChart chart{.title = "Random reads around the page cache",
                  .x_label = "KiB in a read",
                  .y_label = "GB/s",
                  .logarithmic_x = true};
  std::vector<const MeasuredDrive*> measured;
  for (const MeasuredDrive& drive : report.drives) {
    if (drive.refused.empty()) measured.push_back(&drive);
  }
  if (measured.size() == 1) {
    std::vector<uint32_t> depths;
    for (const io::ReadCell& cell : measured[0]->cells) depths.push_back(cell.setting.depth);
    std::ranges::sort(depths);
    depths.erase(std::unique(depths.begin(), depths.end()), depths.end());
    for (const uint32_t depth : depths) {
      chart.series.push_back(
          {fmt::format("{} in flight", depth), points(measured[0]->cells, depth)});
    }
  } else {
    for (const MeasuredDrive* drive : measured) {
      chart.series.push_back({drive->name, points(drive->cells, 0)});
    }
  }
  return svg(chart);
}

}  // namespace sluice::cli
