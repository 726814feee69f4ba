#include "cli/report_text.h"
#include "stream/reading_counters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using stream::DriveHealth;
using stream::DriveReads;
using stream::LayerReads;

Json by_name(const std::vector<std::string>& names, const std::vector<uint64_t>& values) {
  Json object = Json::object();
  for (size_t i = 0; i < names.size(); ++i) object[names[i]] = values[i];
  return object;
}

/// What is wrong with a drive: a member for each thing, none when nothing is.
Json health_json(const DriveHealth& health) {
  Json json = Json::object();
  if (health.throttled) {
    json["throttled"] = {{"bytes_per_second_before", health.throttled->rate_before},
                         {"bytes_per_second_after", health.throttled->rate_after},
                         {"since_seconds", to_seconds(health.throttled->since)}};
  }
  if (health.stalling) {
    json["stalled"] = {{"times", health.stalling->times},
                       {"longest_seconds", to_seconds(health.stalling->longest)},
                       {"waited_seconds", to_seconds(health.stalling->waited)},
                       {"layers", health.stalling->layers},
                       {"ended", health.stalling->ended}};
  }
  if (health.lagging) {
    json["lagging"] = {{"share", health.lagging->share},
                       {"behind_seconds", to_seconds(health.lagging->behind)},
                       {"time_share", health.lagging->time}};
  }
  if (health.failed > 0) json["failed"] = {{"reads", health.failed}};
  return json;
}

Json drive_json(const TraceReport& report, size_t d, const DriveReads& drive) {
  return {{"name", report.header.drives[d]},
          {"trouble", health_json(report.health.drives[d])},
          {"bytes", by_name(report.header.priorities, drive.bytes)},
          {"reads", by_name(report.header.outcomes, drive.reads)},
          {"wasted_bytes", drive.bytes_wasted},
          {"busy_seconds", to_seconds(drive.busy)},
          {"bytes_per_second", drive.rate()},
          {"queued_bytes", drive.queued_bytes},
          {"p50_ms", to_milliseconds(drive.p50)},
          {"p99_ms", to_milliseconds(drive.p99)},
          {"last", drive.last},
          {"behind_ms", to_milliseconds(drive.behind)}};
}

Json layer_json(const TraceReport& report, size_t i, const LayerReads& layer) {
  return {{"layer", report.header.experts[i].layer},
          {"requests", layer.requests},
          {"experts", layer.experts},
          {"missed", layer.missed},
          {"missed_bytes", layer.bytes_missed},
          {"seconds", to_seconds(layer.time)},
          {"waiting_expert_seconds", to_seconds(layer.waiting_experts)},
          {"waiting_spine_seconds", to_seconds(layer.waiting_spine)},
          {"last", by_name(report.header.drives, layer.last)},
          {"behind_ms", to_milliseconds(layer.behind)},
          {"hint_bytes", layer.bytes_hinted},
          {"wasted_bytes", layer.bytes_wasted}};
}

}  // namespace

std::string report_json(const TraceReport& report) {
  const stream::ReadSummary& summary = report.summary;
  const stream::WaitTotals waiting = summary.waiting();
  const Nanos span = summary.span().end - summary.span().begin;
  Json json = {{"verdict", verdict(report.header, report.health)},
               {"fingerprint", fmt::format("{:016x}", report.header.fingerprint)},
               {"finished", report.end.has_value()},
               {"long_enough", report.health.long_enough},
               {"reads", summary.reads()},
               {"reads_lost", summary.reads_lost()},
               {"others_lost", summary.others_lost()},
               {"bytes_left_out", report.bytes_left_out},
               {"retries", summary.retries()},
               {"barriers", summary.barriers()},
               {"passes", summary.passes().size()},
               {"seconds", to_seconds(span)},
               {"waiting_seconds", to_seconds(waiting.all())},
               {"waiting_expert_seconds", to_seconds(waiting.experts)},
               {"waiting_spine_seconds", to_seconds(waiting.spine)},
               {"computing_seconds", to_seconds(span - waiting.all())},
               {"drives", Json::array()},
               {"layers", Json::array()}};
  const std::vector<DriveReads> drives = summary.drives();
  for (size_t d = 0; d < drives.size(); ++d) {
    json["drives"].push_back(drive_json(report, d, drives[d]));
  }
  const std::vector<LayerReads> layers = summary.layers();
  for (size_t i = 0; i < layers.size(); ++i) {
    json["layers"].push_back(layer_json(report, i, layers[i]));
  }
  if (report.end) {
    json["counters"] = Json::object();
    for (const auto& [name, value] : report.end->counters) json["counters"][name] = value;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::cli
