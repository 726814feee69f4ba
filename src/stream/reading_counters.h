#pragma once
#include "stream/weight_streamer.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::stream {

/// A field of StreamerCounters and what reports call it.
struct NamedCounter {
  std::string_view name;
  uint64_t StreamerCounters::* field;
};
/// All of them, in the order in which reports list them.
[[nodiscard]] std::span<const NamedCounter> streamer_counters();

[[nodiscard]] std::string_view name(Priority priority);
[[nodiscard]] std::string_view name(ReadOutcome outcome);

/// What a streamer and its drives did between two moments.
struct ReadingCounters {
  StreamerCounters streamer{};
  std::vector<DriveCounters> drives{};  ///< By drive; `rate` and `oldest` are as they were last.

  /// Up to now.
  [[nodiscard]] static ReadingCounters of(const WeightStreamer& streamer) {
    return {streamer.counters(), streamer.drive_counters()};
  }
  void add(ReadingCounters later);
  /// `before`: of an earlier moment of the same streamer.
  [[nodiscard]] ReadingCounters since(const ReadingCounters& before) const;
};

/// Bytes of all good reads.
[[nodiscard]] uint64_t bytes_read(const DriveCounters& drive);
/// Reads that have ended, also badly.
[[nodiscard]] uint64_t reads_ended(const DriveCounters& drive);

}  // namespace sluice::stream
