#pragma once
#include "base/types.h"
#include "format/read_trace.h"
#include "stream/covered_time.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::stream {

/// What the reads of a trace were on one drive.
struct DriveReads {
  std::vector<uint64_t> bytes{};  ///< Of good reads, by priority.
  std::vector<uint64_t> reads{};  ///< By outcome.
  Nanos busy{};                   ///< With a read under way that has ended.
  uint64_t queued_bytes = 0;      ///< In flight when reads started, in the mean.
  Nanos p50{}, p99{};             ///< Of the durations of good reads; 0 when there are none.
  uint64_t last = 0;              ///< Barriers at which its read was the last to end.
  Nanos behind{};                 ///< Of those, how long after the last read of any other drive.
  uint64_t bytes_wasted = 0;      ///< Read for hints and given up unused.

  [[nodiscard]] uint64_t good_bytes() const;
  /// Bytes per second while busy; 0 when it never was.
  [[nodiscard]] double rate() const;
};

/// What happened from the requests for a layer's experts until the next request each.
struct LayerReads {
  uint64_t requests = 0, experts = 0, missed = 0, bytes_missed = 0;  ///< As the counters count.
  Nanos time{};                                 ///< From one request to the next.
  Nanos waiting_experts{}, waiting_spine{};     ///< Of it; the rest is computing.
  std::vector<uint64_t> last{};                 ///< By drive: barriers that it ended.
  Nanos behind{};                               ///< Of all of them.
  uint64_t bytes_hinted = 0, bytes_wasted = 0;  ///< Of its experts.
};

/// Times of a whole trace.
struct WaitTotals {
  uint64_t waits = 0;
  Nanos experts{}, spine{};
  [[nodiscard]] Nanos all() const { return experts + spine; }
};

/// Sums a trace, a block at a time. A barrier is a request for experts of which something was read
/// because of it: computing goes on only when its last read has ended. One thread.
class ReadSummary {
 public:
  /// `header` must outlive it.
  explicit ReadSummary(const format::ReadTraceHeader& header);

  void add(const format::TraceEvents& events);

  [[nodiscard]] uint64_t reads() const { return reads_; }
  /// Reads that the trace does not have, and other entries.
  [[nodiscard]] uint64_t reads_lost() const { return reads_lost_; }
  [[nodiscard]] uint64_t others_lost() const { return others_lost_; }
  [[nodiscard]] uint64_t retries() const { return retries_; }
  /// When the first thing began and the last one ended, by the clock of the drives.
  [[nodiscard]] CoveredTime::Interval span() const;
  [[nodiscard]] uint64_t barriers() const;
  [[nodiscard]] WaitTotals waiting() const { return waiting_; }
  /// By drive.
  [[nodiscard]] std::vector<DriveReads> drives() const;
  /// By layer, as the header has them.
  [[nodiscard]] std::vector<LayerReads> layers() const;
  /// When the first experts of each pass were requested.
  [[nodiscard]] const std::vector<Nanos>& passes() const { return passes_; }
  /// Where the sums of a trace without lost entries differ from what the program counted; empty
  /// when they do not.
  [[nodiscard]] std::string disagreement(const format::ReadTraceEnd& end) const;

 private:
  /// The reads of one request for experts.
  struct Barrier {
    uint64_t round = 0;
    size_t layer = 0;
    std::vector<Nanos> last_end;  // By drive; kNever where it read nothing.
  };
  struct HintRead {
    uint16_t drive = 0;
    uint64_t bytes = 0;
  };
  static constexpr Nanos kNever = Nanos::min();

  void add(const format::TracedRequest& request);
  void add(const format::TracedWait& wait);
  void add(const format::TracedRead& read);
  void add(const format::TracedWaste& waste);
  void note_round(const format::TracedRequest& request, uint32_t layer);
  void note_hint(const format::TracedRead& read, uint16_t drive);
  void note_expert(const format::TracedRead& read, uint16_t drive);
  void cover(Nanos begin, Nanos end);
  /// With the barrier under way.
  struct Closed {
    std::vector<DriveReads> drives;
    std::vector<LayerReads> layers;
  };
  [[nodiscard]] Closed closed() const;
  static void close(const Barrier& barrier, std::vector<DriveReads>& drives,
                    std::vector<LayerReads>& layers);

  const format::ReadTraceHeader& header_;
  uint64_t reads_ = 0, reads_lost_ = 0, others_lost_ = 0, retries_ = 0, bytes_wasted_ = 0;
  Nanos first_ = Nanos::max(), last_ = Nanos::min();
  WaitTotals waiting_;
  std::vector<DriveReads> drives_;             // Without the barrier under way and percentiles.
  std::vector<LayerReads> layers_;             // Likewise.
  std::vector<std::vector<Nanos>> durations_;  // Of good reads, by drive.
  std::vector<CoveredTime> busy_;              // By drive.
  Barrier barrier_;
  // Layers by round, from the first round that is known.
  uint64_t first_round_ = 0;
  std::vector<uint32_t> layer_of_round_;
  Nanos last_request_{};
  std::vector<Nanos> passes_;
  // What hints read last, by segment: which drive's bytes it was that are given up.
  std::map<uint32_t, std::vector<HintRead>> hint_reads_;
};

}  // namespace sluice::stream
