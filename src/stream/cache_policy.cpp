#include "stream/cache_policy.h"

#include "base/check.h"

#include <cmath>
#include <tuple>
#include <utility>

namespace sluice::stream {

CachePolicy::CachePolicy(size_t segments, const CachePolicyOptions& options)
    : half_lives_per_turn_(1.0 / (options.half_life * options.turns_per_pass)),
      recent_uses_(options.recent_uses),
      turns_per_pass_(options.turns_per_pass),
      experts_(segments) {
  SLUICE_CHECK(options.half_life > 0 && options.recent_uses >= 0 && options.turns_per_pass > 0);
  SLUICE_CHECK(segments < kNone);
  heap_.reserve(segments);
}

void CachePolicy::begin_turn() {
  ++turn_;
  while (oldest_ != kNone && experts_[oldest_].last_turn + turns_per_pass_ <= turn_) {
    const uint32_t id = oldest_;
    unlink(id);
    set_score(id, experts_[id].lasting);
  }
}

void CachePolicy::use(SegmentId expert) {
  double& lasting = experts_[expert.value].lasting;
  lasting = now() + std::log2(1.0 + std::exp2(lasting - now()));
  make_recent(expert.value);
}

void CachePolicy::touch(SegmentId expert) { make_recent(expert.value); }

void CachePolicy::offer(SegmentId expert) {
  SLUICE_CHECK(experts_[expert.value].place == kNone);
  const auto place = static_cast<uint32_t>(heap_.size());
  heap_.push_back(expert.value);
  put(place, expert.value);
  sift(place);
}

void CachePolicy::withhold(SegmentId expert) {
  const uint32_t place = std::exchange(experts_[expert.value].place, kNone);
  SLUICE_CHECK(place != kNone);
  const uint32_t last = heap_.back();
  heap_.pop_back();
  if (last == expert.value) return;
  put(place, last);
  sift(place);
}

std::optional<SegmentId> CachePolicy::lowest() const {
  if (heap_.empty()) return std::nullopt;
  return SegmentId{heap_.front()};
}

void CachePolicy::make_recent(uint32_t id) {
  Expert& expert = experts_[id];
  unlink(id);
  expert.last_turn = turn_;
  expert.older = newest_;
  (newest_ == kNone ? oldest_ : experts_[newest_].newer) = id;
  newest_ = id;
  set_score(id, now() + std::log2(recent_uses_ + std::exp2(expert.lasting - now())));
}

// Does nothing to what is not recent.
void CachePolicy::unlink(uint32_t id) {
  Expert& expert = experts_[id];
  if (expert.older == kNone && oldest_ != id) return;
  (expert.older == kNone ? oldest_ : experts_[expert.older].newer) = expert.newer;
  (expert.newer == kNone ? newest_ : experts_[expert.newer].older) = expert.older;
  expert.older = expert.newer = kNone;
}

void CachePolicy::set_score(uint32_t id, double score) {
  experts_[id].score = score;
  if (experts_[id].place != kNone) sift(experts_[id].place);
}

bool CachePolicy::before(uint32_t a, uint32_t b) const {
  const Expert &x = experts_[a], &y = experts_[b];
  return std::tie(x.score, x.last_turn, a) < std::tie(y.score, y.last_turn, b);
}

void CachePolicy::put(uint32_t place, uint32_t id) {
  heap_[place] = id;
  experts_[id].place = place;
}

// Moves what lies at `place` up or down to where its score belongs.
void CachePolicy::sift(uint32_t place) {
  const uint32_t id = heap_[place];
  while (place > 0 && before(id, heap_[(place - 1) / 2])) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (uint32_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], id)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, id);
}

}  // namespace sluice::stream
