// Without this test the routes that stand for Kimi K3's could lose what is published of them, and
// every prediction made with them would be of another model.
#include "stream/route_process.h"

#include "base/error.h"
#include "format/route_trace.h"
#include "io/test_files.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

using testing::HasSubstr;

double coverage(std::vector<double> uses, double share) {
  std::ranges::sort(uses, std::greater<>());
  const auto count = static_cast<ptrdiff_t>(share * static_cast<double>(uses.size()));
  return std::accumulate(uses.begin(), uses.begin() + count, 0.0) /
         std::accumulate(uses.begin(), uses.end(), 0.0);
}

TEST(RouteProcess, ReusesAndPrefersAsPublished) {
  RouteProcess process({.layers = 8}, 3);
  for (int i = 0; i < 24; ++i) process.converse(64);
  EXPECT_NEAR(reuse_share(process.routes()), 0.35, 0.02);
  EXPECT_NEAR(coverage(process.general_uses(3), 0.2), 0.636, 0.03);
  // Over many subjects the popularity becomes the general one.
  EXPECT_NEAR(coverage(uses_of_token(process.routes()), 0.2), 0.65, 0.05);
}

TEST(RouteProcess, EveryTurnHasDifferentExpertsInOrderWhateverTheShape) {
  for (const RouteProcessShape& shape :
       {RouteProcessShape{.layers = 2, .experts = 896, .top_k = 16},
        {.layers = 3, .experts = 40, .top_k = 6},
        {.layers = 1, .experts = 397, .top_k = 4},
        {.layers = 1, .experts = 8, .top_k = 8}}) {
    RouteProcess process(shape, 1);
    process.converse(20);
    const RouteTable& routes = process.routes();
    ASSERT_EQ(routes.tokens(), 20u);
    for (size_t turn = 0; turn < routes.turns(); ++turn) {
      const std::set<uint16_t> experts(routes.turn(turn).begin(), routes.turn(turn).end());
      EXPECT_EQ(experts.size(), shape.top_k);
      EXPECT_LT(*experts.rbegin(), shape.experts);
      EXPECT_TRUE(std::ranges::is_sorted(routes.turn(turn)));
    }
  }
}

TEST(RouteProcess, ASeedRepeatsItself) {
  const auto draw = [](uint64_t seed) {
    RouteProcess process({.layers = 2}, seed);
    process.converse(5);
    return process.routes().chosen;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(RouteTraces, FollowEachOtherRowByRow) {
  const io::TestFolder folder;
  const auto write = [&](const char* name, uint32_t experts) {
    const format::RouteTraceHeader header{
        .layers = 3, .first_moe_layer = 1, .experts = experts, .top_k = 2, .fingerprint = 1};
    format::RouteTraceWriter writer(folder.path() / name, header);
    format::RoutePass pass{.rows = {{}, {}}, .experts = {0, 1, 2, 3, 4, 5, 6, 7}, .weights = {}};
    pass.weights.assign(pass.experts.size(), 0.5f);
    writer.append(pass);
    return (folder.path() / name).string();
  };
  const std::string one = write("one", 8), two = write("two", 8), other = write("other", 9);
  const RouteTable routes = read_route_traces(std::vector{one, two});
  EXPECT_EQ(routes.chosen, (std::vector<uint16_t>{0, 1, 4, 5, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(routes.starts, (std::vector<size_t>{0, 2}));
  EXPECT_EQ(uses_of_token(routes)[8 + 4], 0.5);
  try {
    (void)read_route_traces(std::vector{one, other});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("other: is of another model than"));
  }
}

}  // namespace
}  // namespace sluice::stream
