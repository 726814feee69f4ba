#pragma once
#include "base/types.h"
#include "format/segment.h"
#include "stream/cache_policy.h"

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::stream {

/// What a slot is doing. Each slot is in the list of its state and in no other, so every decision
/// looks at the front of a list and none scans the slots.
enum class SlotState : uint8_t {
  kEmpty,
  kIdleSpine,   ///< Holds a spine segment that nobody uses.
  kIdleExpert,  ///< Holds an expert that nobody uses; the policy knows which goes first.
  kHinted,      ///< Waits to be read because a hint asked for it; whoever needs a slot takes it.
  kBusy,        ///< Is being read for a request, or somebody uses it, or it is pinned.
};
inline constexpr size_t kSlotStates = 5;

/// Memory for one segment, and the segment.
struct Slot {
  uint64_t memory_offset = 0;  ///< In the arena.
  bool permanent = false;      ///< Belongs to one pinned segment.

  bool loading = false;    ///< Reads are to be started or under way.
  bool ready = false;      ///< The whole segment is in memory.
  bool abandoned = false;  ///< Nobody wants it; empties when the reads under way have ended.
  bool hinted = false;     ///< A hint brought it and no request has asked for it yet.
  SegmentId segment;
  format::SegmentKind kind = format::SegmentKind::kExpert;
  uint64_t hint_bytes = 0;  ///< Their reads began while it was hinted.
  uint32_t taken = 0;       ///< Times that its bytes are out.
  uint32_t promised = 0;    ///< Times that it lies in a batch and was not taken.
  uint64_t round_used = 0;  ///< The round of the last request or hint for it.
  uint32_t reads_in_flight = 0;
  std::vector<uint32_t> waiters;  ///< Tickets, one entry for each time that a request names it.

  SlotState state = SlotState::kEmpty;
  std::list<uint32_t>::iterator link;
};

struct SlotTableOptions {
  uint64_t slots = 0;
  uint64_t spine_slots = 0;  ///< Of them, those that experts leave alone.
  uint64_t slot_bytes = 0;   ///< A multiple of io::kBlockBytes.
  std::span<const SegmentId> pinned;
  CachePolicyOptions policy{};
};

/// Which slot holds what, and which one to give up next. Plain state without threads, reads or
/// memory: the WeightStreamer acts on it under its mutex, and has a PieceScheduler say what is read
/// into the slots when. Slots 0 .. slots - 1 are for all
/// segments, those after them for one pinned segment each.
class SlotTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  /// A hint evicts an expert only when it was last used this many rounds of expert requests ago:
  /// neither in the current one nor in the one before.
  static constexpr uint64_t kHintEvictsAfterRounds = 2;

  /// `segments` must outlive it. Unpinned segments longer than a slot are bugs (checked).
  SlotTable(std::span<const format::Segment> segments, const SlotTableOptions& options);

  /// Bytes of memory that the slots describe.
  [[nodiscard]] uint64_t memory_bytes() const { return memory_bytes_; }
  [[nodiscard]] Slot& slot(uint32_t index) { return slots_[index]; }
  [[nodiscard]] const Slot& slot(uint32_t index) const { return slots_[index]; }
  [[nodiscard]] std::span<Slot> slots() { return slots_; }
  /// The slot where a segment is or arrives, or kNone.
  [[nodiscard]] uint32_t find(SegmentId segment) const { return slot_of_[segment.value]; }
  [[nodiscard]] bool pinned(SegmentId segment) const { return home_of_[segment.value] != kNone; }
  [[nodiscard]] const std::list<uint32_t>& in(SlotState state) const {
    return lists_[index(state)];
  }
  /// Slots that are neither empty nor ready; those that nobody wants any more included.
  [[nodiscard]] uint64_t loading() const { return loading_; }
  /// Experts that gave up their slot to another segment.
  [[nodiscard]] uint64_t evictions() const { return evictions_; }

  /// Counts a request that names experts.
  void begin_round();
  /// Counts that the round's request names an expert, in memory or not.
  void use(SegmentId expert) { policy_.use(expert); }
  [[nodiscard]] uint64_t round() const { return round_; }

  /// Finds a slot for an absent segment, which is a hint's until a waiter is added; nothing when
  /// there is no slot now. For a request: an empty slot, else an idle spine segment
  /// (their order is known, so keeping them never pays), else the idle expert that the policy
  /// scores lowest, else the newest hint without a read under way. For a hint: the first three, the
  /// third under kHintEvictsAfterRounds. Experts never hold more than slots - spine_slots.
  /// `waiting` is how many segments wait for a slot: that many hints with reads under way are told
  /// to stop.
  std::optional<uint32_t> start(SegmentId segment, bool hint, uint64_t waiting);
  /// A request waits for what is loading.
  void add_waiter(uint32_t index, uint32_t ticket);
  /// No read of it waits to be started, so that taking the slot from a hint would save nothing.
  void all_started(uint32_t index);
  /// All pieces are in memory.
  void finish(uint32_t index);
  /// Nobody wants what is loading; the slot is empty once nothing is in flight. It must have no
  /// waiters.
  void abandon(uint32_t index);
  /// Lets a segment that is loading go on in another slot, with its waiters; the old slot is
  /// abandoned. A pinned one is then as others are until it is given up. Experts may have slots of
  /// the spine for this. Nothing when it is too long for a slot or there is none now.
  std::optional<uint32_t> relocate(uint32_t index);
  /// The slots that a call above abandoned since the last call of this.
  [[nodiscard]] std::vector<uint32_t> take_abandoned() { return std::exchange(abandoned_now_, {}); }
  /// What was read for hints and given up before a request asked for it, since the last call of
  /// this.
  struct Waste {
    SegmentId segment;
    uint64_t bytes = 0;
  };
  [[nodiscard]] std::vector<Waste> take_wasted() { return std::exchange(wasted_now_, {}); }
  /// Abandons the experts that a hint asked for and of which no read has begun.
  void abandon_unread_hints();
  /// After the last read of an abandoned slot.
  void clear(uint32_t index);
  /// Puts a ready slot where its users say: busy, or idle as the one used last.
  void settle(uint32_t index);
  /// A slot whose bytes nobody has taken, though they are promised, and that `kind` could have; or
  /// nothing.
  [[nodiscard]] std::optional<uint32_t> find_promised(format::SegmentKind kind) const;
  /// Lets the policy score an expert as used just now.
  void touch(uint32_t index);

 private:
  static size_t index(SlotState state) { return static_cast<size_t>(state); }
  void move(uint32_t index, SlotState state, bool to_front = false);
  [[nodiscard]] bool full_for(format::SegmentKind kind) const;
  std::optional<uint32_t> take_slot(format::SegmentKind kind, bool hint, uint64_t waiting);
  std::optional<uint32_t> take_unused();
  std::optional<uint32_t> take_from_hint(bool expert_only, uint64_t waiting);
  uint32_t evict(uint32_t index);

  const std::span<const format::Segment> segments_;
  const uint64_t expert_slots_max_;
  const uint64_t slot_bytes_;
  CachePolicy policy_;
  uint64_t memory_bytes_ = 0;
  std::vector<Slot> slots_;
  std::array<std::list<uint32_t>, kSlotStates> lists_;
  std::vector<uint32_t> slot_of_;  // By segment.
  std::vector<uint32_t> home_of_;  // By segment: the slot of a pinned one, else kNone.
  uint64_t experts_held_ = 0;      // Slots, permanent ones aside, that hold or await an expert.
  std::vector<uint32_t> abandoned_now_;
  std::vector<Waste> wasted_now_;
  uint64_t abandoned_ = 0;  // Slots, permanent ones aside, that will be empty soon.
  uint64_t loading_ = 0, round_ = 0, evictions_ = 0;
};

}  // namespace sluice::stream
