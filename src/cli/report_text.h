#pragma once
#include "format/read_trace.h"
#include "stream/drive_health.h"
#include "stream/read_summary.h"

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::cli {

/// What `sluice report` knows of a trace.
struct TraceReport {
  const format::ReadTraceHeader& header;
  const stream::ReadSummary& summary;
  const std::optional<format::ReadTraceEnd>& end;
  stream::RunHealth health{};
  uint64_t bytes_left_out = 0;  ///< At the end of the file.
};

/// For people: who is to blame, totals, a line for each drive and, if asked for, for each layer.
[[nodiscard]] std::string report_text(const TraceReport& report, bool layers);
/// The same as one JSON object, always with layers.
[[nodiscard]] std::string report_json(const TraceReport& report);

}  // namespace sluice::cli
