#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::stream {

/// What a model wants of memory, in bytes of memory (not of files).
struct MemoryNeeds {
  uint64_t budget_bytes = 0;        ///< What all of it together may take.
  uint64_t fixed_bytes = 0;         ///< Program, tables, tokenizer.
  uint64_t small_weight_bytes = 0;  ///< Weights that are always in memory.
  uint64_t state_bytes = 0;         ///< Of all sequences.
  uint64_t scratch_bytes = 0;       ///< Activations of one pass.
  uint64_t output_bytes = 0;        ///< Results that are held until they are written.
  uint64_t slot_record_bytes = 0;   ///< What is noted about each slot and each pinned panel.
  uint64_t expert_bytes = 0;        ///< Memory of the largest expert.
  uint64_t experts_per_token =
      0;  ///< Expert slots below which a layer cannot do one token without rereading.
  uint64_t expert_count = 0;          ///< Of all layers.
  std::vector<uint64_t> panel_bytes;  ///< Memory of the spine panels, in the order of a pass.
  uint64_t lookahead_panels = 0;      ///< Panels that are read ahead when some stream.
};

/// Who gets the memory. When it does not fit, only `fits`, `minimum_bytes` and `slot_bytes` have a
/// meaning.
struct MemoryPlan {
  bool fits = false;
  uint64_t minimum_bytes = 0;  ///< The smallest budget that fits.
  uint64_t total_bytes = 0;    ///< At most the budget.

  uint64_t slots = 0;         ///< StreamerOptions::slots: expert_slots + spine_slots.
  uint64_t spine_slots = 0;   ///< StreamerOptions::spine_slots: the panel in use and those read
                              ///< ahead; 0 when none stream.
  uint64_t expert_slots = 0;  ///< At most expert_count; equal to it, nothing is read twice.
  uint64_t slot_bytes = 0;
  uint64_t expert_slot_bytes = 0, spine_slot_bytes = 0;  ///< Of all slots of a kind.
  uint64_t record_bytes = 0;                             ///< Of all slots and pinned panels.

  std::vector<bool> pinned;  ///< By panel: stays in memory.
  uint64_t pinned_panels = 0;
  uint64_t spine_resident_bytes = 0;
  uint64_t spine_streamed_bytes = 0;  ///< Read again in every pass.
};

/// Shares the budget out. Pure. In this order: everything that has no choice, `experts_per_token`
/// expert slots, `lookahead_panels` + 1 spine slots when not all panels can be pinned; then pinned
/// panels (each is read in every pass, so a byte there always pays, and a byte of an expert pays
/// only when it is hit); then expert slots up to all experts.
///
/// Panels that stream are spread evenly over the pass, so that their reading overlaps computing
/// everywhere. A larger budget never streams more bytes, never has fewer expert slots, and fits
/// when a smaller one did.
[[nodiscard]] MemoryPlan plan_memory(const MemoryNeeds& needs);

/// What takes memory, and how much.
struct MemoryUse {
  std::string_view name;  ///< For programs, such as expert_slots.
  std::string text;       ///< For people.
  uint64_t bytes = 0;
};
/// All that the total of a plan is made of; of one that does not fit, what has no choice.
[[nodiscard]] std::vector<MemoryUse> memory_uses(const MemoryNeeds& needs, const MemoryPlan& plan);

/// The plan as a table for people, one line for each use, and a line that says what it means; when
/// it does not fit, how much is needed. Ends with a line feed.
[[nodiscard]] std::string memory_table(const MemoryNeeds& needs, const MemoryPlan& plan);

/// "17.55 MiB": three to five digits in the largest binary unit that leaves at least 1. Bytes have
/// no fraction.
[[nodiscard]] std::string human_bytes(uint64_t bytes);

}  // namespace sluice::stream
