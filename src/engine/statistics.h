#pragma once
#include "base/types.h"

#include <cstdint>
#include <string>

namespace sluice::engine {

/// What the passes of one phase did, summed.
struct PhaseStats {
  uint64_t tokens = 0;  ///< Rows that ran.
  uint64_t passes = 0;
  Nanos elapsed{};
  Nanos waiting{};  ///< Of `elapsed`, spent waiting for weights; the rest is computing.
  uint64_t expert_hits = 0, expert_misses = 0;
  uint64_t expert_bytes = 0, spine_bytes = 0;  ///< Read for the passes, without rounding to blocks.
  uint64_t device_bytes = 0;                   ///< Read from the drives, with it.

  void add(const PhaseStats& other);
  [[nodiscard]] double tokens_per_second() const;  ///< 0 when no time passed.
  [[nodiscard]] double bytes_per_token() const;    ///< From the drives; 0 without tokens.
  [[nodiscard]] double hit_share() const;          ///< 0 to 1; 0 when no expert was asked for.
  [[nodiscard]] double waiting_ms_per_token() const;
  [[nodiscard]] double computing_ms_per_token() const;
};

struct GenerationStats {
  PhaseStats prefill, decode;
  uint64_t peak_rss_bytes = 0;

  void add(const GenerationStats& other);
};

/// Lines for a person. The first one has the figures that matter most, of the decode phase, or of
/// the prefill when nothing was decoded.
[[nodiscard]] std::string stats_text(const GenerationStats& stats);
/// The same as a JSON object.
[[nodiscard]] std::string stats_json(const GenerationStats& stats);

/// The most memory that this process has had resident, bytes; 0 where the system does not tell.
[[nodiscard]] uint64_t peak_rss_bytes();

}  // namespace sluice::engine
