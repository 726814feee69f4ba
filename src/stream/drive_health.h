#pragma once
#include "base/types.h"
#include "format/read_trace.h"
#include "stream/covered_time.h"
#include "stream/read_summary.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace sluice::stream {

/// A drive's delivery rate fell in the midst of a run and stayed low.
struct Throttling {
  double rate_before = 0, rate_after = 0;  ///< Bytes per second while busy.
  Nanos since{};                           ///< From the start of the trace.
};

/// Reads of a drive took many times what they should have, or never ended.
struct Stalling {
  uint64_t times = 0;   ///< Several reads that hang together are one time.
  Nanos longest{};      ///< Of these times.
  Nanos waited{};       ///< How long the engine had nothing to compute meanwhile.
  uint64_t layers = 0;  ///< Barriers that such a read of experts was for.
  bool ended = true;    ///< False: a read had not ended when the run did.
};

/// A drive that does as it always did, and that the others wait for.
struct Lagging {
  double share = 0;  ///< Of all barriers, those that it ended.
  Nanos behind{};    ///< At these, together, after the last of the other drives.
  double time = 0;   ///< That as a share of the run: what it would gain without.
};

struct DriveHealth {
  std::optional<Throttling> throttled{};
  std::optional<Stalling> stalling{};
  std::optional<Lagging> lagging{};
  uint64_t failed = 0;  ///< Reads with an error, or that brought what they should not.
};

/// What is wrong with the drives of a run.
struct RunHealth {
  std::vector<DriveHealth> drives{};  ///< By DriveId.
  bool long_enough = true;            ///< To tell whether a drive throttled.
};

/// Looks for drives that are to blame, in a second look at a trace that is summed already: what is
/// unusual shows only against what is usual. One thread.
class HealthCheck {
 public:
  /// `header` and `summary` must outlive it; `end`: as the reader has it, may be empty.
  HealthCheck(const format::ReadTraceHeader& header, const ReadSummary& summary,
              std::optional<format::ReadTraceEnd> end);

  void add(const format::TraceEvents& events);
  /// Whether a read of the trace took many times what is usual for its drive.
  [[nodiscard]] bool is_stalled(const format::TracedRead& read) const;
  [[nodiscard]] RunHealth result() const;

 private:
  static constexpr size_t kBins = 512;
  struct Bin {
    double bytes = 0, busy = 0;                              // Busy in seconds.
    double durations = 0, queued = 0;                        // Of the reads, each times its bytes.
    double least = std::numeric_limits<double>::infinity();  // Seconds of one read.
  };
  struct Drive {
    DriveReads reads;
    std::array<Bin, kBins> bins{};
    CoveredTime busy, stalled;
    uint64_t failed = 0, good = 0;
    std::vector<uint64_t> late_rounds;  // Of reads that stalled.
  };

  [[nodiscard]] double bin_of(Nanos time) const;
  void spread(CoveredTime::Interval part, Drive& drive, double Bin::* field, double amount) const;
  [[nodiscard]] std::optional<Throttling> throttling(size_t drive) const;
  [[nodiscard]] double usual_change(size_t drive, size_t bin) const;
  [[nodiscard]] std::optional<Stalling> stalling(size_t drive) const;
  [[nodiscard]] std::optional<Lagging> lagging(size_t drive) const;

  const format::ReadTraceHeader& header_;
  const CoveredTime::Interval span_;
  const uint64_t barriers_;
  const std::optional<format::ReadTraceEnd> end_;
  std::vector<Drive> drives_;
  std::vector<CoveredTime::Interval> waits_;
};

/// One line that names the drives to look at and why, or says that there are none.
[[nodiscard]] std::string verdict(const format::ReadTraceHeader& header, const RunHealth& health);

}  // namespace sluice::stream
