#include "cli/bench_report.h"
#include "cli/version.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

Json spread_json(const std::optional<engine::Spread>& spread) {
  if (!spread) return nullptr;
  return {{"median", spread->median}, {"min", spread->min}, {"max", spread->max}};
}

Json turn_json(const BenchTurn& turn) {
  Json json = Json::object();
  for (const BenchFigure& figure : bench_figures())
    json[std::string(figure.name)] = figure.of(turn);
  json["memory_ceiling_bytes_per_second"] = turn.ceilings.memory;
  json["drives_ceiling_bytes_per_second"] = turn.ceilings.drives;
  json["drives_ceiling_direct"] = turn.ceilings.direct;
  json["tokens"] = turn.stats.tokens;
  json["passes"] = turn.stats.passes;
  json["weight_bytes"] = turn.weight_bytes;
  for (const auto& [name, field] : stream::streamer_counters()) {
    json[std::string(name)] = turn.stats.reading.streamer.*field;
  }
  return json;
}

Json point_json(const BenchReport& report, const ArmReport& arm, const engine::BenchPoint& point,
                size_t index) {
  const std::vector<BenchTurn>& turns = arm.turns[index];
  const bool prefill = point.phase == engine::BenchPhase::kPrefill;
  Json json = {{"phase", prefill ? "prefill" : "decode"},
               {"context", point.context},
               {"tokens", point.tokens}};
  for (const BenchFigure& figure : bench_figures()) {
    json[std::string(figure.name)] = spread_json(figure_spread(figure, turns));
  }
  json["first_token_seconds"] = prefill ? json["seconds"] : Json(nullptr);
  json["speed_ratio"] = spread_json(speed_ratio(turns, report.arms[0].turns[index]));
  json["turns"] = Json::array();
  for (const BenchTurn& turn : turns) json["turns"].push_back(turn_json(turn));
  return json;
}

Json arm_json(const BenchReport& report, const ArmReport& arm) {
  Json json = {{"name", arm.name},
               {"flags", arm.flags},
               {"memory_planned_bytes", arm.memory_bytes},
               {"threads", arm.threads},
               {"prefill_rows", arm.prefill_rows},
               {"read_method", arm.read_method},
               {"buffered_files", arm.buffered_files},
               {"drives", arm.drives},
               {"points", Json::array()}};
  const std::vector<engine::BenchPoint> points = engine::bench_points(report.settings);
  for (size_t p = 0; p < points.size(); ++p) {
    json["points"].push_back(point_json(report, arm, points[p], p));
  }
  return json;
}

}  // namespace

std::string bench_json(const BenchReport& report) {
  const Machine& m = report.machine;
  Json json = {{"command", report.command},
               {"time", report.time},
               {"version", kVersion},
               {"commit", kCommit.empty() ? Json(nullptr) : Json(kCommit)},
               {"machine",
                {{"processor", m.processor},
                 {"processors", m.processors},
                 {"memory_bytes", m.memory_bytes},
                 {"system", m.system}}},
               {"model", report.folder},
               {"fingerprint", fmt::format("{:016x}", report.fingerprint)},
               {"prompt", report.prompt},
               {"prompt_tokens", report.settings.prompt_tokens},
               {"contexts", report.settings.contexts},
               {"tokens", report.settings.tokens},
               {"cold", report.settings.cold},
               {"turns", report.turns},
               {"finished", report.finished},
               {"arms", Json::array()}};
  for (const ArmReport& arm : report.arms) json["arms"].push_back(arm_json(report, arm));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::cli
