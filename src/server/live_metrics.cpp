#include "server/live_figures.h"
#include "server/prometheus_text.h"

#include <chrono>
#include <cstddef>
#include <string_view>

namespace sluice::server {
namespace {

using stream::StreamerCounters;

struct StreamerFamily {
  std::string_view name, help;
  uint64_t StreamerCounters::* field;
};
constexpr StreamerFamily kStreamerFamilies[] = {
    {"sluice_expert_cache_hits_total", "Experts that were in memory when they were asked for.",
     &StreamerCounters::expert_hits},
    {"sluice_expert_cache_misses_total", "Experts that were not.",
     &StreamerCounters::expert_misses},
    {"sluice_expert_cache_evictions_total", "Experts that gave up their slot.",
     &StreamerCounters::evictions},
    {"sluice_spine_cache_hits_total", "Panels of the spine that were in memory.",
     &StreamerCounters::spine_hits},
    {"sluice_spine_cache_misses_total", "Panels of the spine that were not.",
     &StreamerCounters::spine_misses},
    {"sluice_hint_read_bytes_total", "Bytes of experts that were read before they were asked for.",
     &StreamerCounters::hint_bytes_read},
    {"sluice_hint_used_bytes_total", "Of them, those that were asked for later.",
     &StreamerCounters::hint_bytes_used},
    {"sluice_hint_wasted_bytes_total", "Of them, those that were given up unused.",
     &StreamerCounters::hint_bytes_wasted},
    {"sluice_read_retries_total", "Reads that failed and were tried again.",
     &StreamerCounters::retries},
    {"sluice_read_rescues_total", "Segments that went on from another drive when reads hung.",
     &StreamerCounters::rescues},
};

/// Of one drive.
struct DriveLabels {
  std::string number, folder;
};

void drives_text(PrometheusText& text, const std::vector<DriveLabels>& labels,
                 const std::vector<stream::DriveCounters>& drives) {
  text.counter("sluice_drive_read_bytes_total", "Bytes of good reads.");
  for (size_t d = 0; d < drives.size(); ++d) {
    for (size_t p = 0; p < stream::kPriorities; ++p) {
      text.sample(drives[d].bytes[p], {{"drive", labels[d].number},
                                       {"folder", labels[d].folder},
                                       {"for", stream::name(static_cast<stream::Priority>(p))}});
    }
  }
  text.counter("sluice_drive_reads_total", "Reads that have ended.");
  for (size_t d = 0; d < drives.size(); ++d) {
    for (size_t o = 0; o < stream::kReadOutcomes; ++o) {
      text.sample(drives[d].outcomes[o],
                  {{"drive", labels[d].number},
                   {"folder", labels[d].folder},
                   {"outcome", stream::name(static_cast<stream::ReadOutcome>(o))}});
    }
  }
  text.counter("sluice_drive_busy_seconds_total", "Time with a read under way.");
  for (size_t d = 0; d < drives.size(); ++d) {
    text.sample(to_seconds(drives[d].busy),
                {{"drive", labels[d].number}, {"folder", labels[d].folder}});
  }
  text.counter("sluice_drive_quarantines_total", "Times that a drive was left alone for a while.");
  for (size_t d = 0; d < drives.size(); ++d) {
    text.sample(drives[d].quarantines, {{"drive", labels[d].number}, {"folder", labels[d].folder}});
  }
  uint64_t wrong = 0;
  for (const stream::DriveCounters& drive : drives) {
    wrong += drive.outcomes[static_cast<size_t>(stream::ReadOutcome::kWrongChecksum)];
  }
  text.counter("sluice_checksum_failures_total", "Reads that brought other bytes than written.");
  text.sample(wrong);
}

void watched_text(PrometheusText& text, const std::vector<DriveLabels>& labels,
                  const WatchedReads& watched, uint32_t dense_layers) {
  text.histogram("sluice_drive_read_latency_seconds", "How long good reads took.");
  for (size_t d = 0; d < watched.drives.size(); ++d) {
    const std::initializer_list<PrometheusText::Label> of_drive = {{"drive", labels[d].number},
                                                                   {"folder", labels[d].folder}};
    const LatencyBuckets& latency = watched.drives[d].latency;
    latency.each_octave(
        [&](Nanos end, uint64_t count) { text.bucket(to_seconds(end), count, of_drive); });
    text.total(to_seconds(latency.sum()), latency.count(), of_drive);
  }
  text.counter("sluice_barrier_last_drive_total",
               "Requests for experts of which this drive brought the last bytes.");
  for (size_t d = 0; d < watched.drives.size(); ++d) {
    text.sample(watched.drives[d].last,
                {{"drive", labels[d].number}, {"folder", labels[d].folder}});
  }
  text.counter("sluice_barrier_wait_seconds_total", "Waiting for the experts of a layer.");
  for (size_t l = 0; l < watched.layers.size(); ++l) {
    text.sample(to_seconds(watched.layers[l].waiting),
                {{"layer", std::to_string(dense_layers + l)}});
  }
  text.counter("sluice_spine_wait_seconds_total", "Waiting for the spine.");
  text.sample(to_seconds(watched.waiting_spine));
}

void memory_text(PrometheusText& text, const model::LoadedModel& loaded) {
  text.gauge("sluice_memory_bytes", "What the memory budget is for.");
  for (const stream::MemoryUse& use : loaded.memory_uses()) {
    text.sample(use.bytes, {{"use", use.name}});
  }
  text.gauge("sluice_memory_budget_bytes", "All memory that the program may use.");
  text.sample(loaded.options().memory_bytes);
  text.gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
  text.sample(engine::rss_bytes());
}

}  // namespace

std::string live_metrics(const ServedModel& model, const LiveFigures& figures) {
  PrometheusText text({{"model_name", model.name}, {"engine", "0"}});
  for (const auto& [name, help, field] : kStreamerFamilies) {
    text.counter(name, help);
    text.sample(figures.reading.streamer.*field);
  }
  const std::vector<std::string> folders = model.loaded.drive_names();
  std::vector<DriveLabels> labels;
  for (size_t d = 0; d < folders.size(); ++d) labels.push_back({std::to_string(d), folders[d]});
  drives_text(text, labels, figures.reading.drives);
  watched_text(text, labels, figures.watched, model.loaded.shape().dense_layers);
  memory_text(text, model.loaded);
  return text.take();
}

}  // namespace sluice::server
