#include "stream/spine_reader.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::stream {

SpineReader::SpineReader(WeightStreamer& streamer, std::vector<SegmentId> pass_order,
                         std::vector<bool> pinned, size_t lookahead)
    : streamer_(streamer),
      order_(std::move(pass_order)),
      pinned_(std::move(pinned)),
      lookahead_(lookahead),
      taken_(order_.size(), false),
      skipped_at_(order_.size(), 0) {
  SLUICE_CHECK(!order_.empty() && pinned_.size() == order_.size());
}

bool SpineReader::skipped(uint64_t at) const { return skipped_at_[at % order_.size()] == at + 1; }

// The first place from here to the end of the pass where the panel is due.
std::optional<uint64_t> SpineReader::find(SegmentId panel) const {
  const uint64_t end = start_of_pass(position_) + order_.size();
  for (uint64_t at = position_; at < end; ++at) {
    if (order_[at % order_.size()] == panel && !skipped(at)) return at;
  }
  return std::nullopt;
}

// Makes `at`, or what follows it when it is skipped, the next panel; drops what lies before.
void SpineReader::move_to(uint64_t at) {
  while (skipped(at)) ++at;
  position_ = at;
  seen_ = std::max(seen_, at);
  while (!ahead_.empty() && ahead_.front().at < at) ahead_.pop_front();
}

PinnedBytes SpineReader::take(SegmentId panel) {
  const std::optional<uint64_t> at = find(panel);
  SLUICE_CHECK(at.has_value());
  move_to(*at);
  SegmentBatch batch;
  if (!ahead_.empty() && ahead_.front().at == *at) {
    batch = std::move(ahead_.front().batch);
  } else {
    batch = streamer_.request(std::array{panel});
  }
  move_to(*at + 1);
  request_ahead();
  std::optional<ArrivedSegment> arrived = batch.next();
  SLUICE_CHECK(arrived.has_value());
  taken_[*at % order_.size()] = true;
  return std::move(arrived->bytes);
}

bool SpineReader::resident(SegmentId panel) const {
  const std::optional<uint64_t> at = find(panel);
  // One whose first read hung was pinned in vain, and may have been given up since.
  return at && pinned_[*at % order_.size()] && taken_[*at % order_.size()] &&
         streamer_.holds(panel);
}

PinnedBytes SpineReader::peek(SegmentId panel) {
  SLUICE_CHECK(resident(panel));
  std::optional<ArrivedSegment> arrived = streamer_.request(std::array{panel}).next();
  SLUICE_CHECK(arrived.has_value());
  return std::move(arrived->bytes);
}

void SpineReader::skip(SegmentId panel) {
  const std::optional<uint64_t> at = find(panel);
  SLUICE_CHECK(at.has_value());
  skipped_at_[*at % order_.size()] = *at + 1;
  std::erase_if(ahead_, [&](const Ahead& entry) { return entry.at == *at; });
  move_to(position_);
}

void SpineReader::expect_another_pass(bool expected) {
  another_pass_ = expected;
  if (expected) return;
  const uint64_t end = start_of_pass(position_) + order_.size();
  while (!ahead_.empty() && ahead_.back().at >= end) ahead_.pop_back();
  seen_ = std::min(seen_, end);
}

void SpineReader::reset() {
  ahead_.clear();
  // The middle of a pass gives way to the start of the next.
  position_ = start_of_pass(position_ + order_.size() - 1);
  seen_ = position_;
  std::ranges::fill(skipped_at_, 0);  // A pass that was left at its very start is begun again.
}

void SpineReader::request_ahead() {
  const uint64_t pass = start_of_pass(position_);
  // At the very start of a pass that nobody announced nothing is wanted yet.
  const uint64_t end = pass + order_.size() * (another_pass_ ? 2 : 1);
  if (position_ == pass && !another_pass_) return;
  hints_.clear();
  for (; seen_ < end && ahead_.size() < lookahead_; ++seen_) {
    if (skipped(seen_)) continue;
    const SegmentId panel = order_[seen_ % order_.size()];
    if (pinned_[seen_ % order_.size()]) {
      hints_.push_back(panel);
    } else {
      ahead_.push_back({seen_, streamer_.request(std::array{panel})});
    }
  }
  if (!hints_.empty()) streamer_.hint(hints_);
}

}  // namespace sluice::stream
