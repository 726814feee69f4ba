#pragma once
#include "engine/prefix_choice.h"
#include "model/loaded_model.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice::engine {

/// The sequences that an engine holds in memory, those of ended requests included, so that later
/// ones can go on from them. One thread; tokens_held() any.
class SequenceSlots {
 public:
  static constexpr uint32_t kPointsOfSlot = 3;

  SequenceSlots(model::LoadedModel& loaded, uint32_t count);

  [[nodiscard]] std::optional<PrefixChoice> choose(std::span<const TokenId> prompt) const;
  /// Makes the chosen slot hold the beginning of the prompt, and busy. The logits that follow the
  /// prompt when all of it was taken over, else nothing.
  std::vector<float> take(const PrefixChoice& choice, std::span<const TokenId> prompt);
  void release(size_t slot);
  /// How many tokens of the prompt a sequence begins with, at most.
  [[nodiscard]] uint32_t common_with(std::span<const TokenId> prompt) const;

  [[nodiscard]] model::SequenceState& state(size_t slot) { return *slots_[slot].state; }
  [[nodiscard]] uint32_t length(size_t slot) const {
    return static_cast<uint32_t>(slots_[slot].tokens.size());
  }
  /// The state has run these.
  void append(size_t slot, std::span<const TokenId> tokens);
  /// Remembers the sequence before a pass that may be given up.
  void save_pass_point(size_t slot);
  /// Remembers the sequence where others may part from it.
  void save_shared_point(size_t slot);
  /// Remembers the sequence at the end of a prompt, with the logits that follow it.
  void save_prompt_point(size_t slot, std::span<const float> logits);
  /// After a pass that failed: the latest point, or an empty sequence.
  void go_back(size_t slot);

  /// Tokens of all sequences.
  [[nodiscard]] uint32_t tokens_held() const { return tokens_held_; }

 private:
  struct Point {
    model::SequenceState::SavedPoint saved;
    std::vector<float> logits;  // That follow it; may be empty.
  };
  enum PointKind : uint8_t { kSharedPoint, kPassPoint, kPromptPoint };
  struct Slot {
    std::unique_ptr<model::SequenceState> state;
    std::vector<TokenId> tokens;
    std::array<std::optional<Point>, kPointsOfSlot> points;  // By PointKind.
    bool busy = false;
    uint64_t last_used = 0;
  };

  /// With logits where there are some.
  [[nodiscard]] static const Point* find_point(const Slot& slot, uint32_t length);
  void save(size_t slot, PointKind kind, std::span<const float> logits = {});
  void cut(Slot& slot, uint32_t length);
  void count_tokens();

  std::vector<Slot> slots_;
  uint64_t uses_ = 0;
  std::atomic<uint32_t> tokens_held_{0};
};

}  // namespace sluice::engine
