#pragma once
#include "base/types.h"
#include "cli/svg_chart.h"
#include "format/read_trace.h"
#include "stream/covered_time.h"
#include "stream/drive_health.h"
#include "stream/read_summary.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::cli {

/// Which part of a run is drawn. Seconds count from the start of the trace.
struct TimelineChoice {
  uint64_t passes = 2;  ///< The last ones.
  std::optional<double> from_seconds{}, to_seconds{};
};

/// Empty when there is nothing then.
[[nodiscard]] stream::CoveredTime::Interval timeline_window(const stream::ReadSummary& summary,
                                                            const TimelineChoice& choice);

/// Collects what is to be drawn of a trace. One thread.
class TimelineDrawing {
 public:
  using Window = stream::CoveredTime::Interval;

  /// All must outlive it.
  TimelineDrawing(const format::ReadTraceHeader& header, const stream::ReadSummary& summary,
                  const stream::HealthCheck& health, Window window);

  void add(const format::TraceEvents& events);
  /// A row for each drive and one for the engine.
  [[nodiscard]] Timeline chart() const;

 private:
  enum Kind : uint8_t { kDemand, kHint, kFill, kTrouble, kWaiting, kComputing };
  [[nodiscard]] std::optional<Timeline::Span> span(Window time, Kind kind) const;
  [[nodiscard]] Kind kind_of(const format::TracedRead& read) const;

  const format::ReadTraceHeader& header_;
  const stream::ReadSummary& summary_;
  const stream::HealthCheck& health_;
  const Window window_;
  std::vector<Timeline::Row> rows_;  // By drive.
  std::vector<Window> waits_;
};

}  // namespace sluice::cli
