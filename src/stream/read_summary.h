#pragma once
#include "base/types.h"
#include "format/read_trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::stream {

/// What the reads of a trace were on one drive.
struct DriveReads {
  std::vector<uint64_t> bytes{};  ///< Of good reads, by priority.
  std::vector<uint64_t> reads{};  ///< By outcome.
  Nanos p50{}, p99{};             ///< Of the durations of good reads; 0 when there are none.
  uint64_t last = 0;              ///< Barriers at which its read was the last to end.
  Nanos behind{};                 ///< Of those, how long after the last read of any other drive.
};

/// Sums a trace, a block at a time. A barrier is a request for experts of which something was read
/// because of it: computing goes on only when its last read has ended. One thread.
class ReadSummary {
 public:
  explicit ReadSummary(const format::ReadTraceHeader& header);

  void add(const format::ReadBlock& block);

  [[nodiscard]] uint64_t reads() const { return reads_; }
  /// Reads that the trace does not have.
  [[nodiscard]] uint64_t lost() const { return lost_; }
  [[nodiscard]] uint64_t retries() const { return retries_; }
  /// From the start of the first read to the end of the last.
  [[nodiscard]] Nanos span() const { return reads_ == 0 ? Nanos{} : last_end_ - first_start_; }
  [[nodiscard]] uint64_t barriers() const;
  /// By drive.
  [[nodiscard]] std::vector<DriveReads> drives() const;
  /// Where the sums of a trace without lost reads differ from what the program counted; empty when
  /// they do not.
  [[nodiscard]] std::string disagreement(const format::ReadTraceEnd& end) const;

 private:
  /// The reads of one request for experts.
  struct Barrier {
    uint64_t round = 0;
    std::vector<Nanos> last_end;  // By drive; kNever where it read nothing.
  };
  static constexpr Nanos kNever = Nanos::min();

  static void close(const Barrier& barrier, std::vector<DriveReads>& drives);

  const format::ReadTraceHeader& header_;
  uint64_t reads_ = 0, lost_ = 0, retries_ = 0;
  Nanos first_start_ = Nanos::max(), last_end_ = Nanos::min();
  std::vector<DriveReads> drives_;                // Without the barrier under way and percentiles.
  std::vector<std::vector<uint64_t>> durations_;  // Nanoseconds of good reads, by drive.
  Barrier barrier_;
};

}  // namespace sluice::stream
