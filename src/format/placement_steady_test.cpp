// Without these tests adding a drive to a model could move almost all of it, or what stays could
// change how much each drive holds.
#include "format/placement_steady.h"

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::format {
namespace {

int kept(std::span<const DriveSet> now, std::span<const DriveSet> planned) {
  int kept = 0;
  for (size_t p = 0; p < now.size(); ++p) kept += std::popcount(now[p] & planned[p]);
  return kept;
}

TEST(KeepInPlace, AThirdDriveTakesNoMoreThanItsPart) {
  const std::vector<uint32_t> bytes(9, 4096);
  const std::vector<DriveSet> now = {1, 2, 1, 2, 1, 2, 1, 2, 1};
  std::vector<DriveSet> planned = {4, 1, 2, 4, 1, 2, 4, 1, 2};
  keep_in_place(bytes, now, planned);
  EXPECT_EQ(kept(now, planned), 6);
}

TEST(KeepInPlace, PiecesOfOtherSizesAreNotExchanged) {
  const std::vector<uint32_t> bytes = {4096, 8192};
  const std::vector<DriveSet> now = {1, 2};
  std::vector<DriveSet> planned = {2, 1};
  keep_in_place(bytes, now, planned);
  EXPECT_EQ(planned, (std::vector<DriveSet>{2, 1}));
}

TEST(KeepInPlace, EachSizeHasTheSameHoldersAsPlanned) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const size_t pieces = random() % 20;
    std::vector<uint32_t> bytes;
    std::vector<DriveSet> now, planned;
    for (size_t p = 0; p < pieces; ++p) {
      bytes.push_back(random() % 2 == 0 ? 4096 : 8192);
      now.push_back(static_cast<DriveSet>(random() % 8));
      planned.push_back(static_cast<DriveSet>(1 + random() % 7));
    }
    const auto holders_by_size = [&] {
      std::map<uint32_t, std::vector<DriveSet>> holders;
      for (size_t p = 0; p < pieces; ++p) holders[bytes[p]].push_back(planned[p]);
      for (auto& [size, sets] : holders) std::ranges::sort(sets);
      return holders;
    };
    const auto as_planned = holders_by_size();
    const int before = kept(now, planned);
    keep_in_place(bytes, now, planned);
    EXPECT_EQ(holders_by_size(), as_planned) << round;
    EXPECT_GE(kept(now, planned), before) << round;
  }
}

}  // namespace
}  // namespace sluice::format
