#pragma once
#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace sluice::stream {

/// What the score of an expert is made of. The defaults are what docs/performance.md measured as
/// best.
struct CachePolicyOptions {
  /// Passes after which a use counts half. Infinity counts every use alike (LFU); near 0 only the
  /// last use counts (LRU).
  double half_life = 32.0;
  /// How many uses the last one counts for, beside itself, until a pass has gone by without
  /// another.
  double recent_uses = 16.0;
  /// Turns that make a pass: the layers that have experts.
  uint32_t turns_per_pass = 1;
};

/// Which expert to give up when a slot is needed: the one with the lowest score of those that
/// nobody uses. The score is the number of uses, each halved with every half_life that has gone
/// by since, and `recent_uses` more for what the last pass used. Ties go by the last use, then by
/// id, so the same history gives the same choice.
///
/// A turn is one layer's request of one pass, so an expert can be used once in turns_per_pass
/// turns. It counts as recent until its layer's next turn is over without it, and not by how long
/// ago it was used: layers take turns in a circle, where what was used longest ago is what is
/// needed soonest.
///
/// All experts are scored, in memory or not. A pure function of the calls, without I/O; allocates
/// only when it is made. O(log n) a call, and amortised so for begin_turn(). One thread.
class CachePolicy {
 public:
  /// For ids below `segments`.
  CachePolicy(size_t segments, const CachePolicyOptions& options);

  /// The uses that follow are those of the next layer, in this pass or the next one.
  void begin_turn();
  /// The turn uses an expert.
  void use(SegmentId expert);
  /// Scores an expert as recent without counting a use.
  void touch(SegmentId expert);

  /// The expert may be given up from now on. It must not be so already (checked).
  void offer(SegmentId expert);
  /// It may no longer. It must have been offered (checked).
  void withhold(SegmentId expert);
  /// The offered expert with the lowest score, or nothing when none is offered.
  [[nodiscard]] std::optional<SegmentId> lowest() const;

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Expert {
    // Scores are kept as they compare at every time: the logarithm to base 2 of the score at the
    // last use, plus that time in half-lives. All scores fall at the same rate, so their order
    // stays.
    double lasting = -std::numeric_limits<double>::infinity();  // Without the recent uses.
    double score = -std::numeric_limits<double>::infinity();
    uint64_t last_turn = 0;
    uint32_t place = kNone;                 // In the heap.
    uint32_t older = kNone, newer = kNone;  // In the list of recent ones.
  };

  [[nodiscard]] double now() const { return static_cast<double>(turn_) * half_lives_per_turn_; }
  void make_recent(uint32_t id);
  void unlink(uint32_t id);
  void set_score(uint32_t id, double score);
  [[nodiscard]] bool before(uint32_t a, uint32_t b) const;
  void put(uint32_t place, uint32_t id);
  void sift(uint32_t place);

  const double half_lives_per_turn_;
  const double recent_uses_;
  const uint64_t turns_per_pass_;
  uint64_t turn_ = 0;
  std::vector<Expert> experts_;
  std::vector<uint32_t> heap_;                // Offered experts; the lowest score is first.
  uint32_t oldest_ = kNone, newest_ = kNone;  // Of the recent ones, by their last turn.
};

}  // namespace sluice::stream
