#include "stream/slot_table.h"

#include "base/check.h"
#include "io/drive_array.h"

#include <algorithm>
#include <iterator>

namespace sluice::stream {

using format::SegmentKind;

SlotTable::SlotTable(std::span<const format::Segment> segments, const SlotTableOptions& options)
    : segments_(segments),
      expert_slots_max_(options.slots - options.spine_slots),
      slot_bytes_(options.slot_bytes),
      policy_(segments.size(), options.policy),
      memory_bytes_(options.slots * options.slot_bytes),
      slots_(options.slots + options.pinned.size()),
      slot_of_(segments.size(), kNone),
      home_of_(segments.size(), kNone) {
  SLUICE_CHECK(options.spine_slots <= options.slots && slots_.size() < kNone);
  SLUICE_CHECK(options.slot_bytes % io::kBlockBytes == 0);
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    slot.permanent = i >= options.slots;
    slot.state = slot.permanent ? SlotState::kBusy : SlotState::kEmpty;
    slot.memory_offset = i * options.slot_bytes;
    std::list<uint32_t>& list = lists_[index(slot.state)];
    slot.link = list.insert(list.end(), i);
    if (!slot.permanent) continue;
    slot.segment = options.pinned[i - options.slots];
    SLUICE_CHECK(slot.segment.value < segments.size() && home_of_[slot.segment.value] == kNone);
    home_of_[slot.segment.value] = i;
    slot.memory_offset = memory_bytes_;
    memory_bytes_ += round_up(segments[slot.segment.value].memory_bytes, io::kBlockBytes);
  }
  for (size_t s = 0; s < segments.size(); ++s) {
    SLUICE_CHECK(home_of_[s] != kNone || segments[s].memory_bytes <= options.slot_bytes);
  }
}

void SlotTable::begin_round() {
  ++round_;
  policy_.begin_turn();
}

void SlotTable::move(uint32_t index_, SlotState state, bool to_front) {
  Slot& slot = slots_[index_];
  if (slot.state == SlotState::kIdleExpert) policy_.withhold(slot.segment);
  if (state == SlotState::kIdleExpert) policy_.offer(slot.segment);
  std::list<uint32_t>& to = lists_[index(state)];
  to.splice(to_front ? to.begin() : to.end(), lists_[index(slot.state)], slot.link);
  slot.state = state;
}

std::optional<uint32_t> SlotTable::start(SegmentId segment, bool hint, uint64_t waiting) {
  SLUICE_CHECK(find(segment) == kNone);
  const format::Segment& wanted = segments_[segment.value];
  const uint32_t home = home_of_[segment.value];
  // While old reads still land there, a pinned segment makes do with another slot.
  const bool at_home = home != kNone && !slots_[home].abandoned;
  if (!at_home && wanted.memory_bytes > slot_bytes_) return std::nullopt;
  const std::optional<uint32_t> taken =
      at_home ? std::optional(home) : take_slot(wanted.kind, hint, waiting);
  if (!taken) return std::nullopt;
  Slot& slot = slots_[*taken];
  slot.segment = segment;
  slot.kind = wanted.kind;
  slot.loading = true;
  slot.hinted = hint;
  slot.round_used = round_;
  slot_of_[segment.value] = *taken;
  if (!slot.permanent && slot.kind == SegmentKind::kExpert) ++experts_held_;
  // Requests tell the policy what they use; what a hint brings is not used yet.
  if (hint && slot.kind == SegmentKind::kExpert) policy_.touch(segment);
  ++loading_;
  move(*taken, hint && !slot.permanent ? SlotState::kHinted : SlotState::kBusy);
  return taken;
}

// Whether another segment of that kind can only replace an expert.
bool SlotTable::full_for(SegmentKind kind) const {
  return kind == SegmentKind::kExpert && experts_held_ >= expert_slots_max_;
}

std::optional<uint32_t> SlotTable::take_slot(SegmentKind kind, bool hint, uint64_t waiting) {
  const bool experts_full = full_for(kind);
  if (const std::optional<uint32_t> unused = experts_full ? std::nullopt : take_unused()) {
    return unused;
  }
  if (const std::optional<SegmentId> expert = policy_.lowest()) {
    const uint32_t lowest = find(*expert);
    if (!hint || slots_[lowest].round_used + kHintEvictsAfterRounds <= round_) return evict(lowest);
  }
  return hint ? std::nullopt : take_from_hint(experts_full, waiting);
}

std::optional<uint32_t> SlotTable::take_unused() {
  if (!in(SlotState::kEmpty).empty()) return in(SlotState::kEmpty).front();
  if (!in(SlotState::kIdleSpine).empty()) return evict(in(SlotState::kIdleSpine).front());
  return std::nullopt;
}

std::optional<uint32_t> SlotTable::take_from_hint(bool expert_only, uint64_t waiting) {
  const std::list<uint32_t>& hints = in(SlotState::kHinted);
  std::optional<uint32_t> newest;
  for (auto i = hints.rbegin(); i != hints.rend(); ++i) {
    if (expert_only && slots_[*i].kind != SegmentKind::kExpert) continue;
    if (slots_[*i].reads_in_flight == 0) {
      const uint32_t taken = *i;
      abandon(taken);
      return taken;
    }
    if (!newest) newest = *i;
  }
  if (newest && abandoned_ < waiting) abandon(*newest);
  return std::nullopt;
}

uint32_t SlotTable::evict(uint32_t index_) {
  Slot& slot = slots_[index_];
  SLUICE_CHECK(slot.ready && slot.taken + slot.promised == 0 && !slot.permanent);
  if (slot.kind == SegmentKind::kExpert) ++evictions_;
  clear(index_);
  return index_;
}

void SlotTable::add_waiter(uint32_t index_, uint32_t ticket) {
  Slot& slot = slots_[index_];
  slot.waiters.push_back(ticket);
  if (slot.state == SlotState::kHinted) move(index_, SlotState::kBusy);
}

void SlotTable::all_started(uint32_t index_) {
  if (slots_[index_].state == SlotState::kHinted) move(index_, SlotState::kBusy);
}

void SlotTable::finish(uint32_t index_) {
  Slot& slot = slots_[index_];
  SLUICE_CHECK(slot.reads_in_flight == 0 && slot.loading);
  slot.loading = false;
  slot.ready = true;
  --loading_;
  settle(index_);
}

void SlotTable::abandon(uint32_t index_) {
  Slot& slot = slots_[index_];
  SLUICE_CHECK(slot.loading && !slot.abandoned && slot.waiters.empty());
  slot_of_[slot.segment.value] = kNone;
  slot.abandoned = true;
  abandoned_now_.push_back(index_);
  if (!slot.permanent) ++abandoned_;
  move(index_, SlotState::kBusy);
  if (slot.reads_in_flight == 0) clear(index_);
}

std::optional<uint32_t> SlotTable::relocate(uint32_t index_) {
  if (segments_[slots_[index_].segment.value].memory_bytes > slot_bytes_) return std::nullopt;
  std::optional<uint32_t> taken = take_slot(slots_[index_].kind, /*hint=*/false, /*waiting=*/0);
  // The slots of all experts may hang, and the spine takes its own back from idle experts.
  if (!taken) taken = take_unused();
  if (!taken) return std::nullopt;
  Slot& old = slots_[index_];
  Slot& slot = slots_[*taken];
  slot.segment = old.segment;
  slot.kind = old.kind;
  slot.loading = true;
  slot.hinted = old.hinted;
  slot.round_used = old.round_used;
  slot.waiters = std::exchange(old.waiters, {});
  if (slot.kind == SegmentKind::kExpert) ++experts_held_;
  ++loading_;
  move(*taken, SlotState::kBusy);
  abandon(index_);
  slot_of_[slot.segment.value] = *taken;
  return taken;
}

void SlotTable::abandon_unread_hints() {
  const std::list<uint32_t>& hints = in(SlotState::kHinted);
  for (auto next = hints.begin(); next != hints.end();) {
    const uint32_t hint = *next++;  // Abandoning takes it out of the list.
    if (slots_[hint].kind == SegmentKind::kExpert && slots_[hint].hint_bytes == 0) abandon(hint);
  }
}

void SlotTable::clear(uint32_t index_) {
  Slot& slot = slots_[index_];
  SLUICE_CHECK(slot.taken + slot.promised == 0 && slot.reads_in_flight == 0 &&
               slot.waiters.empty());
  if (!slot.abandoned) slot_of_[slot.segment.value] = kNone;
  if (slot.abandoned && !slot.permanent) --abandoned_;
  if (!slot.permanent && slot.kind == SegmentKind::kExpert) --experts_held_;
  if (slot.loading) --loading_;
  if (slot.hinted && slot.hint_bytes > 0) wasted_now_.push_back({slot.segment, slot.hint_bytes});
  slot.hint_bytes = 0;
  slot.loading = slot.ready = slot.abandoned = slot.hinted = false;
  // Memory that was in use before is warm, so it goes first again.
  move(index_, slot.permanent ? SlotState::kBusy : SlotState::kEmpty, true);
}

void SlotTable::settle(uint32_t index_) {
  const Slot& slot = slots_[index_];
  SLUICE_CHECK(slot.ready);
  if (slot.taken + slot.promised > 0 || slot.permanent) {
    move(index_, SlotState::kBusy);
  } else {
    move(index_, slot.kind == SegmentKind::kSpine ? SlotState::kIdleSpine : SlotState::kIdleExpert);
  }
}

std::optional<uint32_t> SlotTable::find_promised(SegmentKind kind) const {
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.permanent || slot.promised == 0 || slot.taken > 0) continue;
    if (!full_for(kind) || slot.kind == SegmentKind::kExpert) return i;
  }
  return std::nullopt;
}

void SlotTable::touch(uint32_t index_) {
  slots_[index_].round_used = round_;
  if (slots_[index_].kind == SegmentKind::kExpert) policy_.touch(slots_[index_].segment);
}

}  // namespace sluice::stream
