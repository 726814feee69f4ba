#pragma once
#include "base/pinned_bytes.h"
#include "base/types.h"
#include "stream/weight_streamer.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::stream {

/// Hands out the panels of the spine in the order of a pass, and requests those that stream ahead
/// of their use, so that the drives read while the processor computes. Passes follow each other;
/// the order is the same in each. One thread.
///
/// The streamer should have `lookahead` + 1 spine slots (StreamerOptions): the panel in use and
/// those ahead. With those, reading ahead never takes a slot from an expert nor waits for one.
class SpineReader {
 public:
  /// `pinned[i]`: panel `pass_order[i]` is one of StreamerOptions::pinned; such panels are hinted
  /// ahead and do not count. `lookahead`: panels that stream and are requested ahead. `streamer`
  /// must outlive it.
  SpineReader(WeightStreamer& streamer, std::vector<SegmentId> pass_order, std::vector<bool> pinned,
              size_t lookahead);

  /// Bytes of the next panel; waits for it. A later panel of the same pass skips those between.
  /// After the last panel the next pass begins. Any other order is a bug (checked). Throws
  /// Error(kIo) as SegmentBatch::next() does; reset() then leads to the next pass.
  [[nodiscard]] PinnedBytes take(SegmentId panel);

  /// Whether the panel has been read and stays for ever.
  [[nodiscard]] bool resident(SegmentId panel) const;
  /// Bytes of a resident panel of this pass that is yet to be taken, without taking it.
  [[nodiscard]] PinnedBytes peek(SegmentId panel);

  /// This pass will not take `panel` (the logits matrix when no logits are wanted): it is not read
  /// ahead, or no longer. Best said before the pass comes near it. A panel that was taken already
  /// is a bug (checked).
  void skip(SegmentId panel);

  /// Whether another pass will follow this one at once. Only then does reading ahead go past the
  /// end of a pass; it stays in force until changed.
  void expect_another_pass(bool expected);

  /// Ends a pass wherever it is and drops what was requested ahead.
  void reset();

 private:
  struct Ahead {
    uint64_t at = 0;
    SegmentBatch batch;
  };

  [[nodiscard]] uint64_t start_of_pass(uint64_t at) const { return at - at % order_.size(); }
  [[nodiscard]] std::optional<uint64_t> find(SegmentId panel) const;
  [[nodiscard]] bool skipped(uint64_t at) const;
  void move_to(uint64_t at);
  void request_ahead();

  WeightStreamer& streamer_;
  const std::vector<SegmentId> order_;
  const std::vector<bool> pinned_;
  const size_t lookahead_;
  // Positions count panels through all passes: pass times panels plus index.
  uint64_t position_ = 0;  // The next panel to be taken.
  uint64_t seen_ = 0;      // The first panel that request_ahead() has not looked at.
  bool another_pass_ = false;
  std::vector<bool> taken_;           // By index: has been taken in some pass.
  std::vector<uint64_t> skipped_at_;  // By index: 1 + the last position that is skipped.
  std::deque<Ahead> ahead_;           // By position.
  std::vector<SegmentId> hints_;
};

}  // namespace sluice::stream
