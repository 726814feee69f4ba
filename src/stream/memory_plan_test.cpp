// Without this test a plan could exceed the memory budget, refuse one that works, or bunch what
// streams.
#include "stream/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kBlock = 4096;

/// 100 blocks that have no choice, experts of 10 blocks of which a token needs 4 of 40, and panels
/// of 8 blocks.
MemoryNeeds needs(uint64_t budget_blocks, size_t panels = 16) {
  return {.budget_bytes = budget_blocks * kBlock,
          .fixed_bytes = 40 * kBlock,
          .small_weight_bytes = 30 * kBlock,
          .state_bytes = 20 * kBlock,
          .scratch_bytes = 10 * kBlock,
          .expert_bytes = 10 * kBlock,
          .experts_per_token = 4,
          .expert_count = 40,
          .panel_bytes = std::vector<uint64_t>(panels, 8 * kBlock),
          .lookahead_panels = 2};
}

struct PlanCase {
  const char* name;
  uint64_t budget_blocks;
  bool fits;
  uint64_t expert_slots, spine_slots, pinned_panels, total_blocks;
};

TEST(MemoryPlan, SharesTheBudgetOut) {
  // Streaming: 100 + (4 + 3) * 10 = 170 at least. All pinned: 100 + 16 * 8 + 4 * 10 = 268 at least.
  const PlanCase cases[] = {
      {"nothing", 0, false, 0, 0, 0, 0},
      {"a block short", 169, false, 0, 0, 0, 0},
      {"the least", 170, true, 4, 3, 0, 170},
      {"no room for a panel", 177, true, 4, 3, 0, 170},
      {"one panel", 178, true, 4, 3, 1, 178},
      {"panels before experts", 267, true, 4, 3, 12, 266},
      {"the whole spine", 268, true, 4, 0, 16, 268},
      {"one more expert", 278, true, 5, 0, 16, 278},
      {"everything", 628, true, 40, 0, 16, 628},
      {"more than everything", 9999, true, 40, 0, 16, 628},
  };
  for (const PlanCase& c : cases) {
    const MemoryPlan plan = plan_memory(needs(c.budget_blocks));
    EXPECT_EQ(plan.fits, c.fits) << c.name;
    EXPECT_EQ(plan.minimum_bytes, 170 * kBlock) << c.name;
    EXPECT_EQ(plan.expert_slots, c.expert_slots) << c.name;
    EXPECT_EQ(plan.spine_slots, c.spine_slots) << c.name;
    EXPECT_EQ(plan.slots, c.expert_slots + c.spine_slots) << c.name;
    EXPECT_EQ(plan.pinned_panels, c.pinned_panels) << c.name;
    EXPECT_EQ(plan.total_bytes, c.total_blocks * kBlock) << c.name;
    EXPECT_EQ(plan.spine_streamed_bytes, c.fits ? (16 - c.pinned_panels) * 8 * kBlock : 0)
        << c.name;
  }
}

TEST(MemoryPlan, RecordsAndResultsCount) {
  MemoryNeeds noted = needs(0);
  noted.slot_record_bytes = kBlock;
  noted.output_bytes = 5 * kBlock;
  struct Case {
    uint64_t budget_blocks;
    bool fits;
    uint64_t expert_slots, pinned_panels, record_blocks, total_blocks;
  };
  // Streaming: 105 + (4 + 3) * 11 = 182 at least. All pinned: 105 + 16 * 9 + 4 * 11 = 293.
  for (const Case& c :
       {Case{181, false, 0, 0, 0, 0}, Case{182, true, 4, 0, 7, 182}, Case{190, true, 4, 0, 7, 182},
        Case{191, true, 4, 1, 8, 191}, Case{293, true, 4, 16, 20, 293},
        Case{303, true, 4, 16, 20, 293}, Case{304, true, 5, 16, 21, 304}}) {
    noted.budget_bytes = c.budget_blocks * kBlock;
    const MemoryPlan plan = plan_memory(noted);
    EXPECT_EQ(plan.minimum_bytes, 182 * kBlock);
    EXPECT_EQ(plan.fits, c.fits) << c.budget_blocks;
    EXPECT_EQ(plan.expert_slots, c.expert_slots) << c.budget_blocks;
    EXPECT_EQ(plan.pinned_panels, c.pinned_panels) << c.budget_blocks;
    EXPECT_EQ(plan.record_bytes, c.record_blocks * kBlock) << c.budget_blocks;
    EXPECT_EQ(plan.total_bytes, c.total_blocks * kBlock) << c.budget_blocks;
  }
  EXPECT_THAT(memory_table(noted, plan_memory(noted)),
              HasSubstr("results held until they are written            20.00 KiB"));
}

TEST(MemoryPlan, ASmallSpineIsCheaperPinnedThanStreamed) {
  const MemoryPlan plan = plan_memory(needs(148, 1));  // 100 + 8 + 40, against 100 + 70.
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.minimum_bytes, 148 * kBlock);
  EXPECT_EQ(plan.pinned_panels, 1u);
  EXPECT_FALSE(plan_memory(needs(147, 1)).fits);
}

TEST(MemoryPlan, FewerExpertsThanATokenNeedsAndNoneAtAll) {
  MemoryNeeds few = needs(10'000);
  few.expert_count = 3;
  EXPECT_EQ(plan_memory(few).expert_slots, 3u);
  few.expert_count = few.expert_bytes = 0;
  few.panel_bytes.clear();
  const MemoryPlan plan = plan_memory(few);
  EXPECT_TRUE(plan.fits);
  EXPECT_EQ(plan.total_bytes, 100 * kBlock);
  EXPECT_TRUE(plan.pinned.empty());
}

TEST(MemoryPlan, ASlotHoldsThePanelsThatStream) {
  MemoryNeeds wide = needs(0);
  wide.panel_bytes[5] = 25 * kBlock - 1;
  wide.budget_bytes = plan_memory(wide).minimum_bytes;
  EXPECT_EQ(wide.budget_bytes, (100 + 7 * 25) * kBlock);
  EXPECT_EQ(plan_memory(wide).slot_bytes, 25 * kBlock);
  wide.budget_bytes = 10'000 * kBlock;
  EXPECT_EQ(plan_memory(wide).slot_bytes, 10 * kBlock);  // None streams.
}

TEST(MemoryPlan, WhatStreamsIsSpreadEvenlyOverThePass) {
  for (const size_t panels : {1u, 2u, 7u, 64u, 100u, 1000u}) {
    for (size_t wanted = 0; wanted <= panels; wanted += 1 + panels / 20) {
      const MemoryPlan plan = plan_memory(needs(170 + 8 * wanted, panels));
      const double share = static_cast<double>(plan.pinned_panels) / static_cast<double>(panels);
      double pinned = 0;
      for (size_t i = 0; i < panels; ++i) {
        pinned += plan.pinned[i] ? 1 : 0;
        // The discrepancy of the bit-reversal order grows with the logarithm.
        EXPECT_LE(std::abs(pinned - share * static_cast<double>(i + 1)),
                  1 + std::log2(static_cast<double>(panels)) / 2)
            << panels << " panels, " << plan.pinned_panels << " pinned, at " << i;
      }
    }
  }
}

MemoryNeeds random_needs(std::mt19937_64& random) {
  const auto below = [&](uint64_t limit) { return random() % limit; };
  MemoryNeeds result{.fixed_bytes = below(1 << 20),
                     .small_weight_bytes = below(1 << 20),
                     .state_bytes = below(1 << 20),
                     .scratch_bytes = below(1 << 20),
                     .output_bytes = below(1 << 20),
                     .slot_record_bytes = below(5'000),
                     .expert_bytes = 1 + below(100'000),
                     .experts_per_token = below(20),
                     .expert_count = below(200),
                     .panel_bytes = std::vector<uint64_t>(below(40)),
                     .lookahead_panels = below(5)};
  for (uint64_t& panel : result.panel_bytes) panel = 1 + below(150'000);
  return result;
}

TEST(MemoryPlan, HoldsItsPromisesForAnyNeeds) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    MemoryNeeds some = random_needs(random);
    const uint64_t minimum = plan_memory(some).minimum_bytes;
    some.budget_bytes = minimum - 1;
    ASSERT_FALSE(plan_memory(some).fits);
    MemoryPlan before;
    for (some.budget_bytes = minimum; some.budget_bytes < minimum + (20 << 20);
         some.budget_bytes += random() % 100'000) {
      const MemoryPlan plan = plan_memory(some);
      ASSERT_TRUE(plan.fits);
      ASSERT_LE(plan.total_bytes, some.budget_bytes);
      ASSERT_EQ(plan.minimum_bytes, minimum);
      ASSERT_GE(plan.expert_slots, std::min(some.experts_per_token, some.expert_count));
      uint64_t streamed = 0;
      for (size_t i = 0; i < some.panel_bytes.size(); ++i) {
        if (plan.pinned[i]) continue;
        streamed += (some.panel_bytes[i] + kBlock - 1) / kBlock * kBlock;
        ASSERT_GE(plan.slot_bytes, some.panel_bytes[i]);
      }
      ASSERT_EQ(plan.spine_streamed_bytes, streamed);
      ASSERT_GE(plan.slot_bytes, some.expert_bytes);
      ASSERT_EQ(plan.spine_slots > 0, streamed > 0);
      if (before.fits) {
        ASSERT_LE(plan.spine_streamed_bytes, before.spine_streamed_bytes);
        ASSERT_GE(plan.expert_slots, before.expert_slots);
      }
      before = plan;
    }
  }
}

TEST(MemoryTable, SaysWhatFitsAndWhatIsMissing) {
  MemoryNeeds some = needs(267);
  const std::string streaming = memory_table(some, plan_memory(some));
  EXPECT_THAT(streaming, HasSubstr("spine panels in memory (12 of 16)"));
  EXPECT_THAT(streaming, HasSubstr("384.00 KiB"));
  EXPECT_THAT(streaming,
              HasSubstr("128.00 KiB of the spine are read in every pass; 10.0 % of the experts"));
  some = needs(628);
  EXPECT_THAT(memory_table(some, plan_memory(some)),
              HasSubstr("The whole spine stays in memory; every expert is read at most once.\n"));
  some = needs(160);
  const std::string refused = memory_table(some, plan_memory(some));
  EXPECT_THAT(refused, HasSubstr("Does not fit: 40.00 KiB more are needed."));
  EXPECT_THAT(refused, HasSubstr("680.00 KiB"));
  EXPECT_THAT(refused, Not(HasSubstr("expert slots")));
}

TEST(MemoryTable, UsesAddUpToTheTotal) {
  for (const uint64_t blocks : {176u, 200u, 628u}) {
    MemoryNeeds some = needs(blocks);
    some.slot_record_bytes = 16;
    some.output_bytes = 5;
    const MemoryPlan plan = plan_memory(some);
    ASSERT_TRUE(plan.fits) << blocks;
    uint64_t total = 0;
    for (const MemoryUse& use : memory_uses(some, plan)) total += use.bytes;
    EXPECT_EQ(total, plan.total_bytes) << blocks;
  }
}

TEST(MemoryTable, WritesBytesForPeople) {
  const std::pair<uint64_t, const char*> cases[] = {
      {0, "0 B"},
      {1023, "1023 B"},
      {1024, "1.00 KiB"},
      {17'547'264, "16.73 MiB"},
      {(1u << 20) - 1, "1.00 MiB"},
      {3ull << 30, "3.00 GiB"},
      {~0ull, "16.00 EiB"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(human_bytes(bytes), text);
}

}  // namespace
}  // namespace sluice::stream
