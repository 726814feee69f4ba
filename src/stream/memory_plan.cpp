#include "stream/memory_plan.h"

#include "base/types.h"
#include "io/drive_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

namespace sluice::stream {
namespace {

uint64_t unavoidable_bytes(const MemoryNeeds& needs) {
  return needs.fixed_bytes + needs.small_weight_bytes + needs.state_bytes + needs.scratch_bytes +
         needs.output_bytes;
}

/// The panels in the order in which they are pinned: by their index with its bits reversed. The
/// first 2^k of it cut the pass in 2^k equal parts, so for every prefix both the pinned panels and
/// the rest are spread evenly.
std::vector<uint32_t> pin_order(size_t panels) {
  std::vector<uint32_t> order;
  order.reserve(panels);
  const auto bits = static_cast<uint32_t>(std::bit_width(std::bit_ceil(panels)) - 1);
  for (uint64_t i = 0; i < uint64_t{1} << bits; ++i) {
    uint64_t reversed = 0;
    for (uint32_t bit = 0; bit < bits; ++bit) reversed |= (i >> bit & 1) << (bits - 1 - bit);
    if (reversed < panels) order.push_back(static_cast<uint32_t>(reversed));
  }
  return order;
}

/// Pins what fits into `room`. Taking every panel that still fits, in a fixed order, never pins
/// fewer bytes for more room: where two rooms first differ, the larger one took a panel that alone
/// overfilled the smaller.
void pin_panels(const std::vector<uint64_t>& panels, uint64_t record_bytes, uint64_t room,
                MemoryPlan& plan) {
  plan.pinned.assign(panels.size(), false);
  for (const uint32_t panel : pin_order(panels.size())) {
    if (panels[panel] + record_bytes > room) continue;
    room -= panels[panel] + record_bytes;
    plan.pinned[panel] = true;
    ++plan.pinned_panels;
    plan.spine_resident_bytes += panels[panel];
  }
}

}  // namespace

MemoryPlan plan_memory(const MemoryNeeds& needs) {
  MemoryPlan plan;
  std::vector<uint64_t> panels = needs.panel_bytes;
  for (uint64_t& bytes : panels) bytes = round_up(bytes, io::kBlockBytes);
  const uint64_t spine_bytes = std::accumulate(panels.begin(), panels.end(), uint64_t{0});
  const uint64_t largest_panel = panels.empty() ? 0 : *std::ranges::max_element(panels);
  const uint64_t expert_bytes = round_up(needs.expert_bytes, io::kBlockBytes);
  const uint64_t experts_least = std::min(needs.experts_per_token, needs.expert_count);
  const uint64_t base = unavoidable_bytes(needs), record_bytes = needs.slot_record_bytes;

  // Either the whole spine is pinned, and a slot is for experts only, or some of it streams through
  // slots that must hold its largest panel too.
  const uint64_t streaming_slot_bytes = std::max(expert_bytes, largest_panel);
  const uint64_t spine_slots = needs.lookahead_panels + 1;
  const uint64_t pinned_minimum = base + spine_bytes + panels.size() * record_bytes +
                                  experts_least * (expert_bytes + record_bytes);
  const uint64_t streaming_minimum =
      base + (experts_least + spine_slots) * (streaming_slot_bytes + record_bytes);
  plan.minimum_bytes = std::min(pinned_minimum, streaming_minimum);
  plan.fits = needs.budget_bytes >= plan.minimum_bytes;
  const bool all_pinned = needs.budget_bytes >= pinned_minimum;
  plan.slot_bytes = all_pinned ? expert_bytes : streaming_slot_bytes;
  if (!plan.fits) return plan;

  plan.spine_slots = all_pinned ? 0 : spine_slots;
  const uint64_t slot_cost = plan.slot_bytes + record_bytes;
  const uint64_t least = base + (experts_least + plan.spine_slots) * slot_cost;
  pin_panels(panels, record_bytes, needs.budget_bytes - least, plan);
  plan.spine_streamed_bytes = spine_bytes - plan.spine_resident_bytes;
  const uint64_t rest =
      needs.budget_bytes - least - plan.spine_resident_bytes - plan.pinned_panels * record_bytes;
  const uint64_t more = slot_cost == 0 ? 0 : rest / slot_cost;
  plan.expert_slots = std::min(needs.expert_count, experts_least + more);
  plan.slots = plan.expert_slots + plan.spine_slots;
  plan.expert_slot_bytes = plan.expert_slots * plan.slot_bytes;
  plan.spine_slot_bytes = plan.spine_slots * plan.slot_bytes;
  plan.record_bytes = (plan.slots + plan.pinned_panels) * record_bytes;
  plan.total_bytes = base + plan.spine_resident_bytes + plan.expert_slot_bytes +
                     plan.spine_slot_bytes + plan.record_bytes;
  return plan;
}

std::string human_bytes(uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // From 1023.995 on, two decimals would print 1024.00.
  for (; value >= 1023.995 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::vector<MemoryUse> memory_uses(const MemoryNeeds& needs, const MemoryPlan& plan) {
  std::vector<MemoryUse> uses = {{"program", "program, tables, tokenizer", needs.fixed_bytes},
                                 {"small_weights", "small weights", needs.small_weight_bytes},
                                 {"sequence_state", "sequence state", needs.state_bytes},
                                 {"activations", "activations", needs.scratch_bytes}};
  if (needs.output_bytes > 0) {
    uses.push_back({"results", "results held until they are written", needs.output_bytes});
  }
  if (!plan.fits) return uses;
  uses.push_back({"spine_panels",
                  fmt::format("spine panels in memory ({} of {})", plan.pinned_panels,
                              needs.panel_bytes.size()),
                  plan.spine_resident_bytes});
  uses.push_back({"spine_slots",
                  fmt::format("spine slots for reading ahead ({})", plan.spine_slots),
                  plan.spine_slot_bytes});
  uses.push_back(
      {"expert_slots",
       fmt::format("expert slots ({} of {} experts)", plan.expert_slots, needs.expert_count),
       plan.expert_slot_bytes});
  uses.push_back({"records", "records of slots and panels", plan.record_bytes});
  return uses;
}

std::string memory_table(const MemoryNeeds& needs, const MemoryPlan& plan) {
  std::string table;
  const auto row = [&](const std::string& what, uint64_t bytes) {
    table += fmt::format("{:<44}{:>12}\n", what, human_bytes(bytes));
  };
  for (const MemoryUse& use : memory_uses(needs, plan)) row(use.text, use.bytes);
  if (!plan.fits) {
    row("least for weights", plan.minimum_bytes - unavoidable_bytes(needs));
    row("smallest budget that works", plan.minimum_bytes);
    row("budget", needs.budget_bytes);
    table += fmt::format(
        "Does not fit: {} more are needed. Raise the memory budget, shorten the context, or "
        "run fewer rows and sequences.\n",
        human_bytes(plan.minimum_bytes - needs.budget_bytes));
    return table;
  }
  row("total", plan.total_bytes);
  row("budget", needs.budget_bytes);
  const std::string spine = plan.spine_streamed_bytes == 0
                                ? "The whole spine stays in memory"
                                : fmt::format("{} of the spine are read in every pass",
                                              human_bytes(plan.spine_streamed_bytes));
  const std::string experts = plan.expert_slots == needs.expert_count
                                  ? "every expert is read at most once"
                                  : fmt::format("{:.1f} % of the experts stay in memory",
                                                100.0 * static_cast<double>(plan.expert_slots) /
                                                    static_cast<double>(needs.expert_count));
  table += fmt::format("{}; {}.\n", spine, experts);
  return table;
}

}  // namespace sluice::stream
