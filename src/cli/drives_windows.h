#pragma once
#include "base/types.h"
#include "format/read_trace.h"
#include "io/disk_counters.h"

#include <deque>
#include <optional>
#include <vector>

namespace sluice::cli {

/// What the drives of a run did in a stretch of its time.
struct TraceWindow {
  double begin_seconds = 0;  ///< Since the first read began.
  double seconds = 0;
  std::vector<io::DriveRates> drives;  ///< By DriveId; writing and busy time are not known.
};

/// Cuts the reads of a trace into stretches of one length, by the time at which they ended.
class TraceWindows {
 public:
  TraceWindows(const format::ReadTraceHeader& header, Nanos interval);

  /// In the order of the trace.
  void add(const format::TracedRead& read);
  /// The next stretch that is over: a later one has a read.
  [[nodiscard]] std::optional<TraceWindow> take();
  /// The stretch in which the trace ends, when it has reads.
  [[nodiscard]] std::optional<TraceWindow> rest();

 private:
  struct Sums {
    double bytes = 0, reads = 0, seconds = 0;
  };
  void close();
  [[nodiscard]] TraceWindow window_of(Nanos length) const;

  const format::ReadTraceHeader& header_;
  const Nanos interval_;
  std::optional<Nanos> first_start_;
  Nanos begin_{}, last_end_{};  // Of the stretch under way, and of its reads.
  std::vector<Sums> sums_;      // Likewise, by DriveId.
  std::deque<TraceWindow> over_;
};

}  // namespace sluice::cli
