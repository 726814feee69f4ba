// Without these tests a drive could be bought for nothing: a plan that leaves it idle in a layer,
// or room unused, would still be readable.
#include "format/placement_planner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::Pointwise;

constexpr uint32_t kPiece = 1u << 20;
constexpr size_t kPieces = 17;  // Of an expert.
constexpr uint64_t kExpert = uint64_t{kPiece} * kPieces;
constexpr uint64_t kPlenty = std::numeric_limits<uint64_t>::max();

// Experts, each used as `uses(i)` says.
std::vector<PlannedSegment> experts(size_t count, double (*uses)(size_t)) {
  std::vector<PlannedSegment> segments;
  for (size_t i = 0; i < count; ++i) {
    segments.push_back({uses(i), std::vector<uint32_t>(kPieces, kPiece)});
  }
  return segments;
}
double alike(size_t) { return 1.0; }

std::vector<double> read_parts(const PlacementForecast& f) {
  const double sum = std::accumulate(f.read_bytes.begin(), f.read_bytes.end(), 0.0);
  std::vector<double> parts;
  for (const double bytes : f.read_bytes) parts.push_back(bytes / sum);
  return parts;
}

// Four drives that were measured in one machine, and a model that fits four times, as it does
// there, at a thousandth of the size.
std::vector<PlannedDrive> four_drives(double room) {
  const auto terabytes = [&](double tb) { return static_cast<uint64_t>(tb * room * 1e9); };
  return {{13.55e9, terabytes(2)},
          {7.09e9, terabytes(1)},
          {7.04e9, terabytes(2)},
          {5.73e9, terabytes(1)}};
}
constexpr size_t kExperts = 82;  // 1.46 GB.

TEST(PlacementPlanner, DrivesReadInProportionToTheirRates) {
  const std::vector<PlannedSegment> segments = experts(kExperts, alike);
  for (const uint32_t survive : {0u, 1u, 2u}) {
    SCOPED_TRACE(survive);
    const std::vector<PlannedDrive> drives = four_drives(survive == 2 ? 1.0 : 0.6);
    const PlacementRequest request = {.drives = drives, .segments = segments, .survive = survive};
    const PlacementPlan plan = plan_placement(request);
    ASSERT_TRUE(plan.fits);
    EXPECT_THAT(read_parts(plan.forecast),
                Pointwise(DoubleNear(0.001), {0.4055, 0.2122, 0.2107, 0.1715}));
    EXPECT_LE(plan.forecast.seconds, 1.001 * plan.forecast.bound_seconds);
  }
}

TEST(PlacementPlanner, WhatIsLeftAfterALossIsReadEvenly) {
  const std::vector<PlannedSegment> segments = experts(kExperts, alike);
  const std::vector<PlannedDrive> drives = four_drives(0.5);  // Two copies, hardly more.
  const PlacementRequest request = {.drives = drives, .segments = segments, .survive = 1};
  const PlacementPlan plan = plan_placement(request);
  ASSERT_TRUE(plan.fits);
  for (uint32_t lost = 0; lost < drives.size(); ++lost) {
    std::vector<DriveSet> holders = plan.holders;
    double rates = 0.0;
    for (DriveSet& set : holders) set &= ~(DriveSet{1} << lost);
    for (size_t d = 0; d < drives.size(); ++d) rates += d == lost ? 0.0 : drives[d].rate;
    const PlacementForecast f = forecast_placement(request, holders);
    EXPECT_EQ(f.lost_bytes, 0u);
    EXPECT_LE(f.seconds, 1.05 * static_cast<double>(kExperts * kExpert) / rates) << lost;
  }
}

// What the slowest of its drives makes of a layer: the most seconds for 16 of the experts, drawn at
// random, as a multiple of the ideal.
double worst_layer(const PlacementRequest& request, std::span<const DriveSet> holders) {
  double rates = 0.0, worst = 0.0;
  for (const PlannedDrive& drive : request.drives) rates += drive.rate;
  std::vector<size_t> order(request.segments.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < 16; ++i) std::swap(order[i], order[i + random() % (order.size() - i)]);
    std::vector<PlannedSegment> chosen;
    std::vector<DriveSet> theirs;
    for (size_t i = 0; i < 16; ++i) {
      chosen.push_back(request.segments[order[i]]);
      const auto held = holders.subspan(order[i] * kPieces, kPieces);
      theirs.insert(theirs.end(), held.begin(), held.end());
    }
    const PlacementRequest layer = {.drives = request.drives, .segments = chosen};
    const double ideal = static_cast<double>(16 * kExpert) / rates;
    worst = std::max(worst, forecast_placement(layer, theirs).seconds / ideal);
  }
  return worst;
}

TEST(PlacementPlanner, AnyLayerIsReadEvenly) {
  const struct {
    const char* what;
    double room;  // 1: for four copies.
    double worst;
  } kCases[] = {
      {"one copy: to within a few pieces", 0.25, 1.12},
      {"a tenth has a second copy", 0.28, 1.06},
      {"half of it", 0.38, 1.001},
  };
  const std::vector<PlannedSegment> segments = experts(896, alike);
  for (const auto& c : kCases) {
    std::vector<PlannedDrive> drives = four_drives(1.0);
    double rates = 0.0;
    for (const PlannedDrive& d : drives) rates += d.rate;
    for (PlannedDrive& d : drives) {
      d.room_bytes =
          static_cast<uint64_t>(4.0 * c.room * d.rate / rates * 896.0 * kExpert) + kPiece;
    }
    const PlacementRequest request = {.drives = drives, .segments = segments};
    const PlacementPlan plan = plan_placement(request);
    ASSERT_TRUE(plan.fits) << c.what;
    EXPECT_LE(worst_layer(request, plan.holders), c.worst) << c.what;
  }
}

TEST(PlacementPlanner, ASmallDriveIsFullAndHasOfEverySegment) {
  const std::vector<PlannedSegment> segments = experts(100, alike);
  const std::vector<PlannedDrive> drives = {{8e9, 25 * kExpert}, {1e9, 100 * kExpert}};
  const PlacementPlan plan = plan_placement({.drives = drives, .segments = segments});
  EXPECT_EQ(plan.forecast.stored_bytes[0], drives[0].room_bytes);
  EXPECT_NEAR(plan.forecast.seconds, 75.0 * kExpert / 1e9, 1e-9);
  EXPECT_NEAR(plan.forecast.bound_seconds, plan.forecast.seconds, 1e-9);
  for (size_t i = 0; i < segments.size(); ++i) {
    const auto held = std::span(plan.holders).subspan(i * kPieces, kPieces);
    EXPECT_THAT(std::ranges::count_if(held, [](DriveSet set) { return (set & 1u) != 0; }),
                AllOf(Ge(4), Le(5)));
  }
}

TEST(PlacementPlanner, ASmallDriveHoldsWhatIsUsedMost) {
  // A tenth is used nine times as often as the rest, so it makes up half of what is read.
  const std::vector<PlannedSegment> segments =
      experts(100, [](size_t i) { return i % 10 == 3 ? 9.0 : 1.0; });
  const struct {
    const char* what;
    PlannedDrive small;  // The other one reads 1 and has room for everything.
    double small_part;   // Of reading.
  } kCases[] = {
      {"all of the tenth, which is what it can read", {1e9, 10 * kExpert}, 0.5},
      {"all of the tenth, though it could read more", {8e9, 10 * kExpert}, 0.5},
      {"half of the tenth, though it could read more", {8e9, 5 * kExpert}, 0.25},
      {"a part of the tenth and a smaller one of the rest", {0.5e9, 10 * kExpert}, 1.0 / 3.0},
      {"everything and more", {3e9, 100 * kExpert}, 0.75},
  };
  for (const auto& c : kCases) {
    const std::vector<PlannedDrive> drives = {c.small, {1e9, 100 * kExpert}};
    const PlacementPlan plan = plan_placement({.drives = drives, .segments = segments});
    EXPECT_NEAR(read_parts(plan.forecast)[0], c.small_part, 0.005) << c.what;
    EXPECT_LE(plan.forecast.seconds, 1.005 * plan.forecast.bound_seconds) << c.what;
    EXPECT_LE(plan.forecast.stored_bytes[0], c.small.room_bytes) << c.what;
  }
}

// By expert: how often its mean piece is there on three equal drives.
std::vector<double> copies(std::span<const PlannedSegment> segments, uint64_t room) {
  const std::vector<PlannedDrive> drives(3, {1e9, room});
  const PlacementPlan plan = plan_placement({.drives = drives, .segments = segments});
  std::vector<double> mean;
  for (size_t i = 0; i < segments.size(); ++i) {
    double sum = 0.0;
    for (size_t p = 0; p < kPieces; ++p) sum += std::popcount(plan.holders.at(i * kPieces + p));
    mean.push_back(sum / kPieces);
  }
  return mean;
}

TEST(PlacementPlanner, SpareRoomHoldsMoreOfWhatIsUsedMost) {
  const std::vector<PlannedSegment> segments =
      experts(40, [](size_t i) { return i < 10 ? 0.0 : static_cast<double>(40 - i); });
  const std::vector<double> some = copies(segments, 20 * kExpert);
  EXPECT_THAT(std::span(some).subspan(0, 10), Each(1.0));  // Nobody uses them.
  EXPECT_THAT(std::span(some).subspan(10, 19), Each(2.0));
  EXPECT_THAT(std::span(some).subspan(31), Each(1.0));
  const std::vector<double> plenty = copies(segments, kPlenty);
  EXPECT_THAT(std::span(plenty).subspan(0, 10), Each(1.0));
  EXPECT_THAT(std::span(plenty).subspan(10), Each(3.0));
}

TEST(PlacementPlanner, EquallyUsedSegmentsShareScarceRoom) {
  EXPECT_THAT(copies(experts(42, alike), 21 * kExpert), Each(AllOf(Ge(1.3), Le(1.7))));
}

TEST(PlacementPlanner, SaysHowMuchRoomIsLacking) {
  const struct {
    const char* what;
    std::vector<uint64_t> rooms;
    uint32_t survive;
    uint64_t missing;
  } kCases[] = {
      {"enough", {30, 10}, 0, 0},
      {"ten bytes short", {20, 10}, 0, 10},
      {"no drives", {}, 0, 40},
      {"no room", {0, 0}, 0, 40},
      {"a large one cannot hold both copies", {1000, 30}, 1, 10},
      {"only one drive for two copies", {1000}, 1, 40},
      {"three copies", {40, 40, 20}, 2, 20},
      {"enough bytes, but no whole pieces", {15, 25}, 0, 5},
  };
  const std::vector<PlannedSegment> segments = {{1.0, {10, 10}}, {2.0, {10, 10}}};
  for (const auto& c : kCases) {
    std::vector<PlannedDrive> drives;
    for (const uint64_t room : c.rooms) drives.push_back({1.0, room});
    const PlacementPlan plan =
        plan_placement({.drives = drives, .segments = segments, .survive = c.survive});
    EXPECT_EQ(plan.fits, c.missing == 0) << c.what;
    EXPECT_EQ(plan.missing_bytes, c.missing) << c.what;
    EXPECT_EQ(plan.holders.empty(), c.missing != 0) << c.what;
  }
}

TEST(PlacementPlanner, PiecesMoveTogetherWhereGapsAreTooSmall) {
  // The first pieces leave 5 bytes on each drive; the last one needs 10.
  const std::vector<PlannedDrive> drives = {{1.0, 15}, {1.0, 15}};
  const std::vector<PlannedSegment> segments = {{3.0, {5, 5, 5, 5}}, {1.0, {10}}};
  const PlacementPlan plan = plan_placement({.drives = drives, .segments = segments});
  ASSERT_TRUE(plan.fits);
  EXPECT_THAT(plan.forecast.stored_bytes, ElementsAre(15, 15));
}

TEST(PlacementPlanner, AbsurdRequestsHavePlans) {
  const std::vector<PlannedDrive> one = {{1e9, kPlenty}};
  const std::vector<PlannedDrive> sixteen(kPlannedDrivesMax, {1e9, kPlenty});

  const PlacementPlan nothing = plan_placement({.drives = one, .segments = {}});
  EXPECT_TRUE(nothing.fits);
  EXPECT_THAT(nothing.holders, IsEmpty());
  EXPECT_EQ(nothing.forecast.seconds, 0.0);
  EXPECT_TRUE(plan_placement({}).fits);

  // Nothing is used: it is spread nevertheless, and room is used.
  const std::vector<PlannedSegment> unused = experts(10, [](size_t) { return 0.0; });
  const std::vector<PlannedDrive> two = {{1e9, 6 * kExpert}, {1e9, 6 * kExpert}};
  const PlacementPlan idle = plan_placement({.drives = two, .segments = unused});
  EXPECT_EQ(idle.forecast.seconds, 0.0);
  EXPECT_EQ(idle.forecast.bound_seconds, 0.0);
  EXPECT_THAT(idle.forecast.stored_bytes, Each(6 * kExpert));

  const std::vector<PlannedSegment> used = experts(10, alike);
  EXPECT_THAT(plan_placement({.drives = one, .segments = used}).holders, Each(1u));
  const PlacementPlan wide = plan_placement({.drives = sixteen, .segments = used, .survive = 7});
  for (const DriveSet set : wide.holders) EXPECT_EQ(std::popcount(set), 8);
  EXPECT_LE(wide.forecast.seconds, 1.001 * wide.forecast.bound_seconds);

  const std::vector<PlannedSegment> hollow = {{1.0, {}}, {1.0, {0}}, {1.0, {kPiece}}};
  EXPECT_TRUE(plan_placement({.drives = one, .segments = hollow}).fits);
}

}  // namespace
}  // namespace sluice::format
