#include "cli/drives_windows.h"

#include <algorithm>
#include <chrono>

namespace sluice::cli {

TraceWindows::TraceWindows(const format::ReadTraceHeader& header, Nanos interval)
    : header_(header), interval_(interval), sums_(header.drives.size()) {}

void TraceWindows::add(const format::TracedRead& read) {
  const Nanos end = read.started + read.duration;
  if (!first_start_) {
    first_start_ = begin_ = last_end_ = read.started;
  }
  while (end - begin_ >= interval_) close();
  last_end_ = std::max(last_end_, end);
  Sums& sums = sums_[header_.files[read.file.value].drive.value];
  constexpr uint8_t kGood = 0;  // The first outcome of a trace.
  if (read.outcome == kGood) sums.bytes += read.bytes;
  sums.reads += 1;
  sums.seconds += to_seconds(read.duration);
}

void TraceWindows::close() {
  over_.push_back(window_of(interval_));
  begin_ += interval_;
  last_end_ = std::max(last_end_, begin_);
  std::ranges::fill(sums_, Sums{});
}

TraceWindow TraceWindows::window_of(Nanos length) const {
  const double seconds = to_seconds(length);
  TraceWindow window{to_seconds(begin_ - *first_start_), seconds, {}};
  for (const Sums& sums : sums_) {
    io::DriveRates rates;
    rates.read_bytes_per_second = sums.bytes / seconds;
    rates.reads_per_second = sums.reads / seconds;
    rates.queue = sums.seconds / seconds;
    if (sums.reads > 0) rates.latency_ms = sums.seconds / sums.reads * 1e3;
    window.drives.push_back(rates);
  }
  io::share_out(window.drives);
  return window;
}

std::optional<TraceWindow> TraceWindows::take() {
  if (over_.empty()) return std::nullopt;
  TraceWindow window = std::move(over_.front());
  over_.pop_front();
  return window;
}

std::optional<TraceWindow> TraceWindows::rest() {
  const bool any = std::ranges::any_of(sums_, [](const Sums& sums) { return sums.reads > 0; });
  if (!any || last_end_ <= begin_) return std::nullopt;
  TraceWindow window = window_of(last_end_ - begin_);
  std::ranges::fill(sums_, Sums{});
  return window;
}

}  // namespace sluice::cli
