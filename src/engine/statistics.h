#pragma once
#include "base/types.h"
#include "stream/reading_counters.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::engine {

/// What the passes of one phase did, summed.
struct PhaseStats {
  uint64_t tokens = 0;  ///< Rows that ran.
  uint64_t passes = 0;
  Nanos elapsed{};  ///< By the drives' clock, like all times here.
  stream::ReadingCounters reading{};

  void add(const PhaseStats& other);
  [[nodiscard]] Nanos waiting() const;             ///< Of `elapsed`, for weights.
  [[nodiscard]] Nanos computing() const;           ///< The rest.
  [[nodiscard]] double tokens_per_second() const;  ///< 0 when no time passed.
  [[nodiscard]] double bytes_per_token() const;    ///< From the drives; 0 without tokens.
  // Shares are 0 to 1, and 0 of nothing.
  [[nodiscard]] double hit_share() const;    ///< Of the experts that were asked for.
  [[nodiscard]] double hint_recall() const;  ///< Of the hinted segments, those asked for later.
  [[nodiscard]] double hint_waste() const;   ///< Of the bytes read for hints, those never used.
  /// Bytes read for hints and never used, as a share of those that requests missed; may exceed 1.
  [[nodiscard]] double hint_waste_of_missed() const;
  [[nodiscard]] double busy_share(const stream::DriveCounters& drive) const;
  [[nodiscard]] double busy_share() const;  ///< Mean of all drives.
};

struct GenerationStats {
  PhaseStats prefill, decode;
  uint64_t peak_rss_bytes = 0;
  std::vector<std::string> drive_names{};  ///< By drive.
};

/// Lines for a person, and a table of the drives. The first line has the figures that matter most,
/// of the decode phase, or of the prefill when nothing was decoded.
[[nodiscard]] std::string stats_text(const GenerationStats& stats);
/// The same as a JSON object.
[[nodiscard]] std::string stats_json(const GenerationStats& stats);

/// The most memory that this process has had resident, bytes; 0 where the system does not tell.
[[nodiscard]] uint64_t peak_rss_bytes();
/// What it has resident now, bytes; 0 where the system does not tell.
[[nodiscard]] uint64_t rss_bytes();
/// Lets peak_rss_bytes() begin anew from what is resident now. False where the system cannot.
[[nodiscard]] bool restart_peak_rss();

}  // namespace sluice::engine
