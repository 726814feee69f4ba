#pragma once
#include "base/types.h"
#include "engine/engine.h"
#include "server/drive_rates.h"
#include "server/read_watch.h"
#include "server/served_model.h"
#include "stream/reading_counters.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::server {

/// All that the live view shows, as of one moment.
struct LiveFigures {
  Nanos uptime{};
  engine::EngineStatus engine{};
  stream::ReadingCounters reading{};
  WatchedReads watched{};
  std::vector<DriveRate> rates{};  ///< By drive.
  std::vector<bool> held{};        ///< Experts in memory or on their way, layer by layer.
};

/// One JSON object. Layers are those with experts. In cache.heat.resident, expert e of the l-th of
/// them is bit i % 8 of byte i / 8, the lowest being bit 0, where i is l * experts + e.
[[nodiscard]] std::string live_json(const ServedModel& model, const LiveFigures& figures);
/// Prometheus text, of reads and of memory.
[[nodiscard]] std::string live_metrics(const ServedModel& model, const LiveFigures& figures);

}  // namespace sluice::server
