#pragma once
#include "base/types.h"

#include <cstdint>
#include <span>

namespace sluice::stream {

struct DriveModelOptions {
  uint64_t piece_bytes = 1u << 20;  ///< Size of a usual read.
  uint64_t window_bytes_max = 64u << 20;
};

/// What is known of one drive from its own reads, and how much it should be given at a time. A pure
/// function of the calls; nothing is configured and nothing blocks.
///
/// Rate and latency follow the idea of BBR congestion control (Cardwell et al., 2016): the rate is
/// the largest recent delivery rate, the latency the smallest recent one, and their product is what
/// must be in flight to keep the drive busy. Twice that keeps it busy between two looks at it, and
/// while the drive is not yet full it doubles what is tried. More would only make an urgent read
/// wait behind others.
class DriveModel {
 public:
  explicit DriveModel(const DriveModelOptions& options) : options_(options) {}

  /// What is noted when a read starts, to be handed back when it ends.
  struct Started {
    Nanos at{};
    uint64_t delivered = 0;  ///< Bytes that the drive had delivered by then.
    uint64_t queued = 0;     ///< Bytes in flight, this read included.
  };

  Started start(uint64_t bytes, Nanos now);
  void succeed(const Started& started, uint64_t bytes, Nanos now);
  /// `gone`: the device does not exist any more, so that there is no use in asking again soon.
  void fail(uint64_t bytes, bool gone, Nanos now);
  /// A read takes far longer than expected; it counts as ended only by succeed() or fail().
  void stall() { ++stalled_; }
  void stall_ended() { --stalled_; }

  [[nodiscard]] uint64_t bytes_in_flight() const { return in_flight_; }
  /// Bytes that should be in flight at most.
  [[nodiscard]] uint64_t window_bytes(Nanos now) const;
  /// Bytes per second; 0 while unknown.
  [[nodiscard]] double rate() const { return rate_; }
  /// Of a read that meets no other; 0 while unknown.
  [[nodiscard]] Nanos latency() const { return Nanos(static_cast<int64_t>(latency_ns_)); }
  /// It has been idle for so long that what is known of it may be wrong, and trying it with one
  /// read costs little beside that time.
  [[nodiscard]] bool stale(Nanos now) const;
  /// When a read of that many bytes would end, counted from now, after what is in flight.
  [[nodiscard]] Nanos expected(uint64_t bytes) const;
  /// After this time a read that started so is stalled.
  [[nodiscard]] Nanos stall_limit(const Started& started) const;
  /// Reads should go elsewhere where they can: it failed several times in a row and has not been
  /// given a pause, or a read hangs in it.
  [[nodiscard]] bool shunned(Nanos now) const { return stalled_ > 0 || now < quarantined_until_; }
  /// When a quarantined drive may be tried again.
  [[nodiscard]] Nanos quarantined_until() const { return quarantined_until_; }
  [[nodiscard]] uint64_t quarantines() const { return quarantines_; }
  /// Time with a read under way.
  [[nodiscard]] Nanos busy(Nanos now) const {
    return in_flight_ > 0 ? busy_ + (now - busy_since_) : busy_;
  }

 private:
  void leave(uint64_t bytes, Nanos now);

  DriveModelOptions options_;
  uint64_t in_flight_ = 0, delivered_ = 0;
  double rate_ = 0, latency_ns_ = 0;  // As of learned_at_.
  Nanos learned_at_{};
  uint32_t failures_in_a_row_ = 0, stalled_ = 0;
  bool on_trial_ = false;  // After a quarantine, until a read succeeds.
  Nanos quarantined_until_ = Nanos::min(), quarantine_{};
  uint64_t quarantines_ = 0;
  Nanos busy_{}, busy_since_{};
};

}  // namespace sluice::stream
