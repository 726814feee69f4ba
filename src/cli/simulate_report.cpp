#include "cli/simulate_report.h"

#include "base/types.h"
#include "cli/simulate_options.h"
#include "cli/svg_chart.h"
#include "stream/memory_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::PhaseStats;
using simulator::SimulationResult;

/// The run whose speed is the middle one.
const SimulationResult& middle_run(const SimulatedCase& of) {
  std::vector<const SimulationResult*> runs;
  for (const SimulationResult& result : of.results) runs.push_back(&result);
  std::ranges::sort(
      runs, {}, [](const SimulationResult* run) { return run->stats.decode.tokens_per_second(); });
  return *runs[runs.size() / 2];
}

double per_token(double amount, const PhaseStats& phase) {
  return phase.tokens == 0 ? 0 : amount / static_cast<double>(phase.tokens);
}

double inverse(double value) { return value > 0 ? 1 / value : 0; }

std::string describe_limit(const SimulatedFigures& f) {
  const double waiting = f.waiting_ms / std::max(f.waiting_ms + f.computing_ms, 1e-9);
  if (limit_of(f) == "computing") {
    return fmt::format(
        "Computing limits it: {:.0f} % of the time; faster drives would change "
        "little.",
        100 * (1 - waiting));
  }
  const double reached = f.tokens_per_second / std::max(f.overlapped, 1e-9);
  if (limit_of(f) == "drives") {
    return fmt::format(
        "The drives limit it: they read {:.2f} GB for a token and are waited for "
        "during {:.0f} % of the time.",
        f.bytes_per_token / 1e9, 100 * waiting);
  }
  return fmt::format(
      "Drives and processor wait for each other: {:.0f} % of what both could do side "
      "by side.",
      100 * reached);
}

}  // namespace

SimulatedFigures figures(const SimulatedCase& of) {
  const SimulationResult& run = middle_run(of);
  const PhaseStats& decode = run.stats.decode;
  SimulatedFigures f{.tokens_per_second = decode.tokens_per_second(),
                     .least = decode.tokens_per_second(),
                     .most = decode.tokens_per_second(),
                     .first_token_seconds = to_seconds(run.stats.prefill.elapsed),
                     .bytes_per_token = decode.bytes_per_token(),
                     .hit_share = decode.hit_share(),
                     .waiting_ms = per_token(to_milliseconds(decode.waiting()), decode),
                     .computing_ms = per_token(to_milliseconds(decode.computing()), decode),
                     .hint_recall = decode.hint_recall(),
                     .hint_waste = decode.hint_waste()};
  for (const SimulationResult& result : of.results) {
    f.least = std::min(f.least, result.stats.decode.tokens_per_second());
    f.most = std::max(f.most, result.stats.decode.tokens_per_second());
  }
  double drives = 0;
  for (size_t d = 0; d < of.drives.size(); ++d) {
    const stream::DriveCounters& drive = decode.reading.drives[d];
    f.busy.push_back(decode.busy_share(drive));
    f.drive_bytes_per_token.push_back(
        per_token(static_cast<double>(stream::bytes_read(drive)), decode));
    drives = std::max(drives, f.drive_bytes_per_token[d] / of.drives[d].device.bytes_per_second);
  }
  f.drives_alone = inverse(drives);
  f.computing_alone = inverse(f.computing_ms / 1e3);
  f.overlapped = inverse(std::max(drives, f.computing_ms / 1e3));
  return f;
}

std::string limit_of(const SimulatedFigures& f) {
  constexpr double kLittle = 0.1, kMost = 0.9;
  if (f.waiting_ms < kLittle * (f.waiting_ms + f.computing_ms)) return "computing";
  const bool drives_full = f.tokens_per_second >= kMost * f.drives_alone && f.drives_alone > 0;
  return drives_full || f.waiting_ms > f.computing_ms ? "drives" : "both";
}

namespace {

std::string drive_table(const SimulatedCase& of, const SimulatedFigures& f) {
  size_t width = 5;
  for (const auto& drive : of.drives) width = std::max(width, drive.name.size());
  std::string out = fmt::format("{:<{}}{:>10}{:>12}{:>16}{:>10}\n", "drive", width, "GB/s",
                                "stored GB", "read GB/token", "busy");
  for (size_t d = 0; d < of.drives.size(); ++d) {
    const std::vector<uint64_t>& stored = of.results.front().stored_bytes;
    out += fmt::format(
        "{:<{}}{:>10.2f}{:>12}{:>16.2f}{:>8.1f} %\n", of.drives[d].name, width,
        of.drives[d].device.bytes_per_second / 1e9,
        stored.empty() ? "as is" : fmt::format("{:.1f}", static_cast<double>(stored[d]) / 1e9),
        f.drive_bytes_per_token[d] / 1e9, 100 * f.busy[d]);
  }
  return out;
}

std::string case_table(std::span<const SimulatedCase> cases) {
  size_t width = 6;
  for (const SimulatedCase& c : cases) width = std::max(width, c.name.size());
  std::string out = fmt::format("{:<{}}{:>10}{:>16}{:>14}{:>10}{:>8}{:>9}{:>11}{:>8}{:>11}\n",
                                "drives", width, "tokens/s", "least to most", "1st token, s",
                                "GB/token", "hits", "waiting", "computing", "times", "ideal");
  double first = 0;
  for (const SimulatedCase& c : cases) {
    const SimulatedFigures f = figures(c);
    if (first == 0) first = f.tokens_per_second;
    out += fmt::format(
        "{:<{}}{:>10.2f}{:>16}{:>14.1f}{:>10.2f}{:>6.1f} %{:>6.0f} ms{:>8.0f} "
        "ms{:>8.2f}{:>11.2f}\n",
        c.name, width, f.tokens_per_second, fmt::format("{:.2f} to {:.2f}", f.least, f.most),
        f.first_token_seconds, f.bytes_per_token / 1e9, 100 * f.hit_share, f.waiting_ms,
        f.computing_ms, f.tokens_per_second / std::max(first, 1e-9), f.overlapped);
  }
  return out;
}

Json rates_json(const simulator::ComputeRates& rates) {
  return {{"bf16_bytes_per_second", rates.bf16},
          {"bf16_further_row", rates.bf16_row},
          {"mxfp4_bytes_per_second", rates.mxfp4},
          {"mxfp4_further_row", rates.mxfp4_row},
          {"state_bytes_per_second", rates.state},
          {"attention_products_per_second", rates.attention},
          {"vector_bytes_per_second", rates.vector},
          {"operation_ms", to_milliseconds(rates.operation)}};
}

Json drives_json(const SimulatedCase& of, const SimulatedFigures& f) {
  Json drives = Json::array();
  for (size_t d = 0; d < of.drives.size(); ++d) {
    const io::SimDevice& device = of.drives[d].device;
    Json drive = {{"name", of.drives[d].name},
                  {"bytes_per_second", device.bytes_per_second},
                  {"latency_ms", to_milliseconds(device.latency)}};
    const std::vector<uint64_t>& stored = of.results.front().stored_bytes;
    if (!stored.empty()) drive["stored_bytes"] = stored[d];
    drive["bytes_per_token"] = f.drive_bytes_per_token[d];
    drive["busy_share"] = f.busy[d];
    drives.push_back(std::move(drive));
  }
  return drives;
}

Json case_json(const SimulatedCase& of) {
  const SimulatedFigures f = figures(of);
  const stream::MemoryPlan& plan = of.results.front().plan;
  return {{"name", of.name},
          {"tokens_per_second", f.tokens_per_second},
          {"tokens_per_second_least", f.least},
          {"tokens_per_second_most", f.most},
          {"first_token_seconds", f.first_token_seconds},
          {"bytes_per_token", f.bytes_per_token},
          {"hit_share", f.hit_share},
          {"waiting_ms_per_token", f.waiting_ms},
          {"computing_ms_per_token", f.computing_ms},
          {"hint_recall", f.hint_recall},
          {"hint_waste", f.hint_waste},
          {"bounds_tokens_per_second",
           {{"drives", f.drives_alone},
            {"computing", f.computing_alone},
            {"overlapped", f.overlapped}}},
          {"limit", limit_of(f)},
          {"memory",
           {{"total_bytes", plan.total_bytes},
            {"spine_resident_bytes", plan.spine_resident_bytes},
            {"spine_streamed_bytes", plan.spine_streamed_bytes},
            {"expert_slots", plan.expert_slots}}},
          {"drives", drives_json(of, f)},
          {"reads_digest", fmt::format("{:016x}", of.results.front().reads_digest)}};
}

}  // namespace

std::string simulation_text(const SimulatedSetting& setting, std::span<const SimulatedCase> cases) {
  std::string out = case_table(cases) + "\n";
  const SimulatedCase& last = cases.back();
  const SimulatedFigures f = figures(last);
  if (cases.size() > 1) out += last.name + ":\n";
  out += drive_table(last, f);
  out += fmt::format(
      "\nDrives alone would give {:.2f} tokens/s, computing alone {:.2f}, both side by "
      "side without a gap {:.2f}. {}\n",
      f.drives_alone, f.computing_alone, f.overlapped, describe_limit(f));
  out += fmt::format(
      "Of what hints began to read, {:.0f} % was used; {:.1f} % of their bytes were "
      "not.\n",
      100 * f.hint_recall, 100 * f.hint_waste);
  if (cases.size() > 1) {
    const double before = figures(cases.front()).tokens_per_second;
    out += fmt::format("{} gives {:.2f} times the tokens/s of {}.\n", last.name,
                       f.tokens_per_second / std::max(before, 1e-9), cases.front().name);
  }
  out += fmt::format("\n{}; {} tokens of prompt, {} of answer; routes: {}.\nComputing ({}): {}\n",
                     setting.model, setting.prompt_tokens, setting.tokens, setting.routes,
                     setting.computing_source, computing_text(setting.computing));
  for (const std::string& assumption : setting.assumptions) out += assumption + "\n";
  return out + "\n" + last.results.front().memory_table;
}

std::string simulation_json(const SimulatedSetting& setting, std::span<const SimulatedCase> cases) {
  const SimulationResult& any = cases.front().results.front();
  Json report = {{"model", setting.model},
                 {"spine_bytes", any.spine_bytes},
                 {"expert_bytes", any.expert_bytes},
                 {"memory_bytes", setting.memory_bytes},
                 {"prompt_tokens", setting.prompt_tokens},
                 {"tokens", setting.tokens},
                 {"seeds", cases.front().results.size()},
                 {"routes", setting.routes},
                 {"computing", rates_json(setting.computing)},
                 {"assumptions", setting.assumptions},
                 {"cases", Json::array()}};
  report["computing"]["source"] = setting.computing_source;
  for (const SimulatedCase& c : cases) report["cases"].push_back(case_json(c));
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string simulation_svg(const SimulatedSetting& setting, std::span<const SimulatedCase> cases) {
  BarChart chart{.title = fmt::format("Simulated tokens a second, {}", setting.model),
                 .unit = "tokens/s",
                 .groups = {"simulated", "without any waiting gap"}};
  for (const SimulatedCase& c : cases) {
    const SimulatedFigures f = figures(c);
    chart.bars.push_back({.label = c.name,
                          .value = f.tokens_per_second,
                          .range = std::pair(f.least, f.most),
                          .group = 0});
    chart.bars.push_back({.label = c.name + ", ideal", .value = f.overlapped, .group = 1});
  }
  return svg(chart);
}

}  // namespace sluice::cli
