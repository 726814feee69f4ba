// Without these tests the figures by which caches and drives are planned could be wrong unseen.
#include "stream/route_statistics.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using format::PassKind;
using format::RoutePass;

TEST(RouteStatistics, SharesOfCounts) {
  struct Case {
    std::vector<uint64_t> counts;
    double top, quarter;
  };
  for (const Case& c :
       {Case{{}, 0, 0}, Case{{0, 0}, 0, 0}, Case{{5}, 1, 1}, Case{{1, 1, 1, 1}, 0.25, 0.25},
        Case{{0, 6, 2, 0, 2}, 0.6, 0.8}, Case{{1, 2, 3, 4, 5, 6, 7, 0}, 0.25, 13.0 / 28}}) {
    EXPECT_DOUBLE_EQ(top_share(c.counts), c.top);
    EXPECT_DOUBLE_EQ(quarter_share(c.counts), c.quarter);
  }
}

/// Adds rows of two experts each, in one layer.
struct Trace {
  RouteStatistics statistics{
      {.layers = 2, .first_moe_layer = 1, .experts = 8, .top_k = 2, .fingerprint = 0}};

  struct Row {
    uint32_t sequence, position;
    uint16_t a, b;
  };
  void add(const std::vector<Row>& rows, PassKind kind = PassKind::kPrefill) {
    RoutePass pass{.kind = kind};
    for (const Row& row : rows) {
      pass.rows.push_back({{0}, row.sequence, row.position});
      pass.experts.insert(pass.experts.end(), {row.a, row.b});
    }
    statistics.add(pass);
  }
};

TEST(RouteStatistics, AnEmptyTraceHasZeros) {
  const RouteFigures figures = Trace().statistics.overall();
  EXPECT_EQ(figures.slots, 0u);
  EXPECT_EQ(figures.experts_unused, 8u);
  EXPECT_EQ(figures.reuse, 0.0);
  EXPECT_EQ(figures.union_experts[0], 0.0);
}

TEST(RouteStatistics, CountsSlotsExpertsAndReuse) {
  Trace trace;
  trace.add({{0, 0, 0, 1}, {0, 1, 1, 2}, {0, 2, 1, 2}});
  trace.add({{0, 3, 2, 7}}, PassKind::kDecode);  // Follows the row of the pass before.
  const RouteFigures figures = trace.statistics.layer(1);
  EXPECT_EQ(figures.slots, 8u);
  EXPECT_EQ(figures.experts_used, 4u);
  EXPECT_EQ(figures.experts_unused, 4u);
  EXPECT_DOUBLE_EQ(figures.top_share, 3.0 / 8);
  EXPECT_DOUBLE_EQ(figures.quarter_share, 6.0 / 8);
  EXPECT_DOUBLE_EQ(figures.reuse, 4.0 / 6);  // 1 of 2, 2 of 2, 1 of 2.
  EXPECT_DOUBLE_EQ(figures.union_experts[0], 2.0);
  EXPECT_DOUBLE_EQ(figures.union_experts[1], 3.0);  // {0,1,2} and {1,2,7}.
  EXPECT_DOUBLE_EQ(figures.union_experts[2], 4.0);
  EXPECT_DOUBLE_EQ(figures.union_experts[3], 0.0);
  EXPECT_EQ(trace.statistics.passes(), 2u);
  EXPECT_EQ(trace.statistics.prefill_rows(), 3u);
  EXPECT_EQ(trace.statistics.decode_rows(), 1u);
  EXPECT_EQ(trace.statistics.runs(), 1u);
}

TEST(RouteStatistics, NothingIsReusedAcrossSequencesOrGaps) {
  struct Case {
    Trace::Row second;
    double reuse;
    uint64_t runs;
  };
  for (const Case& c : {Case{{0, 1, 0, 1}, 1.0, 1}, Case{{1, 1, 0, 1}, 0.0, 2},
                        Case{{0, 2, 0, 1}, 0.0, 2}, Case{{0, 0, 0, 1}, 0.0, 2}}) {
    Trace trace;
    trace.add({{0, 0, 0, 1}, c.second});
    EXPECT_DOUBLE_EQ(trace.statistics.layer(1).reuse, c.reuse);
    EXPECT_EQ(trace.statistics.runs(), c.runs);
    EXPECT_DOUBLE_EQ(trace.statistics.layer(1).union_experts[1], c.runs == 1 ? 2.0 : 0.0);
  }
}

TEST(RouteStatistics, AGroupThatASequenceEndsIsNotCounted) {
  Trace trace;
  trace.add({{0, 0, 0, 1}, {0, 1, 2, 3}, {0, 2, 4, 5}, {1, 0, 6, 7}, {1, 1, 6, 7}});
  EXPECT_DOUBLE_EQ(trace.statistics.layer(1).union_experts[1], 3.0);  // {0,1,2,3} and {6,7}.
}

TEST(RouteStatistics, LayersAreApartAndOverallIsTheirMean) {
  RouteStatistics statistics(
      {.layers = 3, .first_moe_layer = 1, .experts = 4, .top_k = 1, .fingerprint = 0});
  RoutePass pass{.rows = {{{0}, 0, 0}, {{0}, 0, 1}}};
  pass.experts = {3, 3, 0, 1};  // Layer 1 twice the same, layer 2 two others.
  statistics.add(pass);
  EXPECT_DOUBLE_EQ(statistics.layer(1).reuse, 1.0);
  EXPECT_DOUBLE_EQ(statistics.layer(2).reuse, 0.0);
  const RouteFigures all = statistics.overall();
  EXPECT_EQ(all.slots, 4u);
  EXPECT_EQ(all.experts_used, 3u);
  EXPECT_EQ(all.experts_unused, 5u);
  EXPECT_DOUBLE_EQ(all.reuse, 0.5);
  EXPECT_DOUBLE_EQ(all.top_share, 0.75);
  EXPECT_DOUBLE_EQ(all.union_experts[1], 1.5);
}

}  // namespace
}  // namespace sluice::stream
