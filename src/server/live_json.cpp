#include "base/base64.h"
#include "base/types.h"
#include "server/json.h"
#include "server/live_figures.h"
#include "server/model_facts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::server {
namespace {

using text::JsonValue;

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
}

JsonValue model_json(const ServedModel& model) {
  const model::ModelShape& shape = model.loaded.shape();
  return json_object({{"name", model.name},
                      {"parameters", parameter_count(model.loaded)},
                      {"layers", shape.layers},
                      {"experts", shape.experts},
                      {"experts_per_token", shape.experts_per_token},
                      {"context", model.loaded.options().context},
                      {"weights_bytes", model.loaded.checkpoint().tensor_bytes()}});
}

JsonValue requests_json(const engine::EngineStatus& status) {
  return json_object({{"running", status.running},
                      {"waiting", status.waiting},
                      {"finished", status.ended_by_stop + status.ended_by_length},
                      {"cancelled", status.cancelled},
                      {"failed", status.failed},
                      {"refused", status.refused}});
}

JsonValue tokens_json(const engine::EngineStatus& status) {
  return json_object({{"prompt", status.prompt_tokens + status.cached_tokens},
                      {"cached", status.cached_tokens},
                      {"generated", status.generated_tokens}});
}

JsonValue phase_json(const engine::PhaseStats& phase) {
  return json_object({{"tokens", phase.tokens},
                      {"passes", phase.passes},
                      {"seconds", to_seconds(phase.elapsed)},
                      {"waiting_seconds", to_seconds(phase.waiting())},
                      {"computing_seconds", to_seconds(phase.computing())},
                      {"tokens_per_second", phase.tokens_per_second()}});
}

JsonValue pass_json(const engine::EngineStatus& status) {
  return json_object({{"running", status.in_pass},
                      {"rows", status.pass_rows},
                      {"layers_done", status.layers_done},
                      {"layers", status.layers}});
}

JsonValue drives_json(const ServedModel& model, const LiveFigures& figures) {
  const std::vector<std::string> names = model.loaded.drive_names();
  JsonValue drives = json_array();
  for (size_t d = 0; d < figures.reading.drives.size(); ++d) {
    const stream::DriveCounters& counters = figures.reading.drives[d];
    const uint64_t bytes = stream::bytes_read(counters), reads = stream::reads_ended(counters);
    const uint64_t good = counters.outcomes[static_cast<size_t>(stream::ReadOutcome::kGood)];
    JsonValue drive = json_object({{"name", names[d]},
                                   {"bytes", bytes},
                                   {"bytes_per_second", figures.rates[d].bytes_per_second},
                                   {"busy_share", figures.rates[d].busy_share},
                                   {"reads", reads},
                                   {"errors", reads - good},
                                   {"quarantines", counters.quarantines}});
    const uint64_t all_bytes = figures.reading.streamer.device_bytes_read;
    add_member(drive, {"share", share(bytes, all_bytes)});
    if (d < figures.watched.drives.size()) {
      const WatchedDrive& watched = figures.watched.drives[d];
      add_member(drive, {"in_flight_bytes", watched.queued_bytes});
      add_member(drive, {"p50_ms", to_milliseconds(watched.recent.percentile(0.50))});
      add_member(drive, {"p99_ms", to_milliseconds(watched.recent.percentile(0.99))});
      add_member(drive, {"last_at_barrier", watched.last});
    }
    drives.items.push_back(std::move(drive));
  }
  return drives;
}

JsonValue layers_json(const ServedModel& model, const WatchedReads& watched) {
  const uint32_t dense = model.loaded.shape().dense_layers;
  JsonValue layers = json_array();
  for (size_t l = 0; l < watched.layers.size(); ++l) {
    const auto& [waiting, hits, misses, last_drive] = watched.layers[l];
    JsonValue layer = json_object({{"layer", dense + l}, {"wait_seconds", to_seconds(waiting)}});
    add_member(layer, {"last_drive", last_drive ? to_json(last_drive->value) : JsonValue{}});
    add_member(layer, {"hits", hits});
    add_member(layer, {"misses", misses});
    layers.items.push_back(std::move(layer));
  }
  return layers;
}

JsonValue cache_json(const ServedModel& model, const LiveFigures& figures) {
  const stream::StreamerCounters& counters = figures.reading.streamer;
  const model::ModelShape& shape = model.loaded.shape();
  std::string bitmap((figures.held.size() + 7) / 8, '\0');
  for (size_t i = 0; i < figures.held.size(); ++i) {
    if (figures.held[i]) bitmap[i / 8] = static_cast<char>(bitmap[i / 8] | 1 << i % 8);
  }
  return json_object(
      {{"hits", counters.expert_hits},
       {"misses", counters.expert_misses},
       {"hit_rate", share(counters.expert_hits, counters.expert_hits + counters.expert_misses)},
       {"slots", model.loaded.plan().expert_slots},
       {"slots_used", std::ranges::count(figures.held, true)},
       {"heat", json_object({{"layers", shape.layers - shape.dense_layers},
                             {"experts", shape.experts},
                             {"resident", encode_base64(bitmap)}})}});
}

JsonValue memory_json(const ServedModel& model) {
  JsonValue memory = json_array();
  for (const stream::MemoryUse& use : model.loaded.memory_uses()) {
    memory.items.push_back(
        json_object({{"use", use.name}, {"text", use.text}, {"bytes", use.bytes}}));
  }
  return memory;
}

}  // namespace

std::string live_json(const ServedModel& model, const LiveFigures& figures) {
  const engine::EngineStatus& status = figures.engine;
  return json_text(json_object({{"model", model_json(model)},
                                {"uptime_seconds", to_seconds(figures.uptime)},
                                {"requests", requests_json(status)},
                                {"tokens", tokens_json(status)},
                                {"phases", json_object({{"prefill", phase_json(status.prefill)},
                                                        {"decode", phase_json(status.decode)}})},
                                {"pass", pass_json(status)},
                                {"drives", drives_json(model, figures)},
                                {"layers", layers_json(model, figures.watched)},
                                {"cache", cache_json(model, figures)},
                                {"memory", memory_json(model)},
                                {"rss_bytes", engine::rss_bytes()},
                                {"budget_bytes", model.loaded.options().memory_bytes}}));
}

}  // namespace sluice::server
