// Without these tests a slow volume could hold back all the others, or a conversion end hours later
// on a full disk.
#include "format/pack_plan.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

constexpr uint64_t kModel = 1000;

TEST(PackShares, FollowRateAndRoom) {
  const struct {
    const char* what;
    std::vector<VolumeRoom> volumes;
    uint32_t copies;
    std::vector<double> shares;
  } kCases[] = {
      {"one volume", {{5, 1000}}, 1, {1}},
      {"in proportion", {{2, 9000}, {1, 9000}, {1, 9000}}, 1, {0.5, 0.25, 0.25}},
      {"a full one, the rest in proportion", {{2, 100}, {2, 9000}, {1, 9000}}, 1, {0.1, 0.6, 0.3}},
      {"one after the other full", {{8, 300}, {4, 400}, {1, 9000}}, 1, {0.3, 0.4, 0.3}},
      {"exactly enough", {{1, 300}, {1, 700}}, 1, {0.3, 0.7}},
      {"no rate, so nothing", {{1, 9000}, {0, 9000}}, 1, {1, 0}},
      {"no rate, but the others are full", {{1, 800}, {0, 9000}}, 1, {0.8, 0.2}},
      {"no rates at all", {{0, 9000}, {0, 9000}}, 1, {0.5, 0.5}},
      {"no room", {{1, 0}, {1, 1000}}, 1, {0, 1}},
      {"two copies, never two in one place", {{9, 9000}, {1, 9000}, {1, 9000}}, 2, {1, 0.5, 0.5}},
      {"a copy on each", {{9, 9000}, {1, 9000}}, 2, {1, 1}},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(pack_shares(c.volumes, kModel, c.copies), Pointwise(DoubleNear(1e-12), c.shares))
        << c.what;
  }
}

TEST(PackShares, TooLittleRoomGivesNone) {
  EXPECT_THAT(pack_shares(std::vector<VolumeRoom>{{1, 400}, {1, 599}}, kModel, 1), IsEmpty());
  EXPECT_THAT(pack_shares(std::vector<VolumeRoom>{{1, 9000}}, kModel, 2), IsEmpty());
  EXPECT_THAT(pack_shares(std::vector<VolumeRoom>{}, kModel, 1), IsEmpty());
}

TEST(PieceDealer, EveryRunOfPiecesFollowsTheShares) {
  const std::vector<double> shares = {0.5, 0.3, 0.2, 0.0};
  PieceDealer dealer(shares, {1u << 30, 1u << 30, 1u << 30, 1u << 30}, 1);
  std::mt19937_64 random(1);
  uint64_t total = 0, largest = 0;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t bytes = 4096 * (1 + random() % 256);
    total += bytes;
    largest = std::max(largest, bytes);
    ASSERT_EQ(dealer.deal(bytes).size(), 1u);
    for (size_t v = 0; v < shares.size(); ++v) {
      EXPECT_NEAR(static_cast<double>(dealer.dealt()[v]), shares[v] * static_cast<double>(total),
                  2.0 * static_cast<double>(largest));
    }
  }
  EXPECT_EQ(dealer.dealt()[3], 0u);
}

TEST(PieceDealer, CopiesLieApart) {
  PieceDealer dealer({1.0, 0.6, 0.4}, {1000, 1000, 1000}, 2);
  for (int i = 0; i < 100; ++i) {
    const std::span<const uint32_t> volumes = dealer.deal(10);
    ASSERT_EQ(volumes.size(), 2u);
    EXPECT_LT(volumes[0], volumes[1]);
  }
  EXPECT_THAT(dealer.dealt(), ElementsAre(1000, 600, 400));
}

TEST(PieceDealer, NeverBeyondTheRoom) {
  PieceDealer dealer({0.5, 0.5}, {25, 100}, 1);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(dealer.deal(10).size(), 1u);
  EXPECT_THAT(dealer.dealt(), ElementsAre(20, 100));
  EXPECT_THAT(dealer.deal(10), IsEmpty());
  EXPECT_EQ(dealer.deal(5).size(), 1u);
}

TEST(MissingBytes, WorstMomentOfEachDevice) {
  PackSteps steps{.pack_bytes = {{60, 40}, {60, 40}},
                  .freed_bytes = {{0, 0}, {0, 0}},
                  .device = {0, 1},
                  .free_bytes = {120, 80}};
  EXPECT_THAT(missing_bytes(steps), ElementsAre(0, 0));
  steps.free_bytes = {100, 50};
  EXPECT_THAT(missing_bytes(steps), ElementsAre(20, 30));
  // Each shard that goes makes room for the packs of the next one.
  steps.freed_bytes = {{100, 0}, {100, 0}};
  EXPECT_THAT(missing_bytes(steps), ElementsAre(0, 30));
  steps.free_bytes = {59, 80};
  EXPECT_THAT(missing_bytes(steps), ElementsAre(1, 0));
  // Volumes on one device share what is free on it.
  steps.device = {0, 0};
  steps.free_bytes = {100, 0};
  EXPECT_THAT(missing_bytes(steps), ElementsAre(0, 0));
  steps.freed_bytes = {{0, 0}, {0, 0}};
  EXPECT_THAT(missing_bytes(steps), ElementsAre(100, 0));
}

}  // namespace
}  // namespace sluice::format
