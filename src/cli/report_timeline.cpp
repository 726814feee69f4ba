#include "cli/report_timeline.h"

#include "stream/reading_counters.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using Window = stream::CoveredTime::Interval;

Nanos nanos(double seconds) { return Nanos(static_cast<int64_t>(seconds * 1e9)); }

}  // namespace

Window timeline_window(const stream::ReadSummary& summary, const TimelineChoice& choice) {
  const Window span = summary.span();
  const std::vector<Nanos>& passes = summary.passes();
  Window window = span;
  if (choice.from_seconds || choice.to_seconds) {
    if (choice.from_seconds) window.begin = span.begin + nanos(*choice.from_seconds);
    if (choice.to_seconds) window.end = std::min(span.end, span.begin + nanos(*choice.to_seconds));
  } else if (choice.passes < passes.size()) {
    window.begin = passes[passes.size() - choice.passes];
  }
  return window;
}

TimelineDrawing::TimelineDrawing(const format::ReadTraceHeader& header,
                                 const stream::ReadSummary& summary,
                                 const stream::HealthCheck& health, Window window)
    : header_(header), summary_(summary), health_(health), window_(window) {
  for (const std::string& drive : header.drives) rows_.push_back({.name = drive});
}

// What of a time is to be seen.
std::optional<Timeline::Span> TimelineDrawing::span(Window time, Kind kind) const {
  if (time.end < window_.begin || time.begin > window_.end) return std::nullopt;
  const Nanos start = summary_.span().begin;
  return Timeline::Span{.begin = to_seconds(std::max(time.begin, window_.begin) - start),
                        .end = to_seconds(std::min(time.end, window_.end) - start),
                        .kind = kind};
}

TimelineDrawing::Kind TimelineDrawing::kind_of(const format::TracedRead& read) const {
  if (read.outcome != 0 || health_.is_stalled(read)) return kTrouble;
  const auto priority = static_cast<stream::Priority>(read.priority);
  if (is_demand(priority)) return kDemand;
  return priority == stream::Priority::kHint ? kHint : kFill;
}

void TimelineDrawing::add(const format::TraceEvents& events) {
  for (const format::TracedRead& read : events.reads.entries) {
    const Window time{read.started, read.started + read.duration};
    const auto visible = span(time, kind_of(read));
    if (visible) rows_[header_.files[read.file.value].drive.value].spans.push_back(*visible);
  }
  for (const format::TracedWait& wait : events.waits.entries) {
    waits_.push_back({wait.started, wait.started + wait.duration});
  }
}

Timeline TimelineDrawing::chart() const {
  Timeline chart{.title = fmt::format("Reads from {:.2f} to {:.2f} s",
                                      to_seconds(window_.begin - summary_.span().begin),
                                      to_seconds(window_.end - summary_.span().begin)),
                 .x_label = "seconds since the start of the trace",
                 .kinds = {"needed now", "hinted", "kept for ever", "failed or stalled", "waiting",
                           "computing or idle"},
                 .rows = rows_};
  Timeline::Row engine{.name = "engine"};
  Nanos computing = window_.begin;
  for (const Window& wait : waits_) {
    const auto waited = span(wait, kWaiting);
    if (!waited) continue;
    if (wait.begin > computing) {
      engine.spans.push_back(span({computing, wait.begin}, kComputing).value());
    }
    engine.spans.push_back(*waited);
    computing = wait.end;
  }
  if (computing < window_.end) {
    engine.spans.push_back(span({computing, window_.end}, kComputing).value());
  }
  chart.rows.push_back(engine);
  for (Timeline::Row& row : chart.rows) {
    std::ranges::sort(row.spans, {}, &Timeline::Span::begin);
  }
  return chart;
}

}  // namespace sluice::cli
