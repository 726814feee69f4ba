#include "engine/sequence_slots.h"

#include "base/check.h"

#include <algorithm>

namespace sluice::engine {

SequenceSlots::SequenceSlots(model::LoadedModel& loaded, uint32_t count) : slots_(count) {
  for (Slot& slot : slots_) slot.state = loaded.make_state();
}

std::optional<PrefixChoice> SequenceSlots::choose(std::span<const TokenId> prompt) const {
  std::vector<HeldPrefix> held;
  for (const Slot& slot : slots_) {
    HeldPrefix& prefix = held.emplace_back();
    prefix = {.tokens = slot.tokens, .busy = slot.busy, .last_used = slot.last_used};
    for (const std::optional<Point>& point : slot.points) {
      if (point) prefix.points.push_back({point->saved.length(), !point->logits.empty()});
    }
  }
  return choose_prefix(held, prompt);
}

std::vector<float> SequenceSlots::take(const PrefixChoice& choice,
                                       std::span<const TokenId> prompt) {
  Slot& slot = slots_[choice.slot];
  const Slot& from = slots_[choice.from];
  const Point* const point = find_point(from, choice.length);
  std::vector<float> logits;
  if (choice.length == prompt.size()) logits = point->logits;
  if (choice.slot != choice.from) {
    slot.state->copy_from(*from.state, point->saved);
    slot.points = {};
  } else {
    cut(slot, choice.length);
  }
  slot.tokens.assign(prompt.begin(), prompt.begin() + choice.length);
  slot.busy = true;
  count_tokens();
  return logits;
}

void SequenceSlots::release(size_t slot) {
  slots_[slot].busy = false;
  slots_[slot].last_used = ++uses_;
}

void SequenceSlots::append(size_t slot, std::span<const TokenId> tokens) {
  slots_[slot].tokens.insert(slots_[slot].tokens.end(), tokens.begin(), tokens.end());
  count_tokens();
}

uint32_t SequenceSlots::common_with(std::span<const TokenId> prompt) const {
  uint32_t most = 0;
  for (const Slot& slot : slots_) most = std::max(most, common_prefix(slot.tokens, prompt));
  return most;
}

void SequenceSlots::save_pass_point(size_t slot) { save(slot, kPassPoint); }
void SequenceSlots::save_shared_point(size_t slot) { save(slot, kSharedPoint); }
void SequenceSlots::save_prompt_point(size_t slot, std::span<const float> logits) {
  save(slot, kPromptPoint, logits);
}

void SequenceSlots::save(size_t slot, PointKind kind, std::span<const float> logits) {
  Slot& s = slots_[slot];
  std::optional<Point>& point = s.points[kind];
  point.reset();  // Before there is another, for memory is planned for one.
  if (s.tokens.empty()) return;
  point.emplace(s.state->save_point(), std::vector<float>(logits.begin(), logits.end()));
}

void SequenceSlots::go_back(size_t slot) {
  uint32_t length = 0;
  for (const std::optional<Point>& point : slots_[slot].points) {
    if (point) length = std::max(length, point->saved.length());
  }
  cut(slots_[slot], length);
  count_tokens();
}

const SequenceSlots::Point* SequenceSlots::find_point(const Slot& slot, uint32_t length) {
  const Point* found = nullptr;
  for (const std::optional<Point>& point : slot.points) {
    if (point && point->saved.length() == length) found = &*point;
  }
  return found;
}

void SequenceSlots::cut(Slot& slot, uint32_t length) {
  const Point* const point = find_point(slot, length);
  if (length == 0) {
    slot.state->clear();
  } else if (point != nullptr && (length < slot.tokens.size() || slot.state->interrupted())) {
    slot.state->cut(point->saved);
  }
  SLUICE_CHECK(slot.state->length() == length);
  slot.tokens.resize(length);
  for (std::optional<Point>& held : slot.points) {
    if (held && held->saved.length() > length) held.reset();
  }
}

void SequenceSlots::count_tokens() {
  uint32_t tokens = 0;
  for (const Slot& slot : slots_) tokens += static_cast<uint32_t>(slot.tokens.size());
  tokens_held_ = tokens;
}

}  // namespace sluice::engine
