// Without these tests a plan could promise a speed that no way of reading gives, or call safe what
// one lost drive takes away.
#include "format/placement_planner.h"
#include "format/test_linear_program.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

constexpr DriveSet kA = 1, kB = 2, kC = 4;

TEST(PlacementForecast, PiecesAreReadFromWhoEndsFirst) {
  const std::vector<PlannedDrive> kDrives = {{4, 1000}, {2, 1000}, {1, 1000}};
  const struct {
    const char* what;
    std::vector<DriveSet> holders;  // Of two segments, used once and three times, of 10 + 20 bytes.
    double seconds;
    std::vector<double> read_bytes;
    uint32_t survives;
    uint64_t lost_bytes;
  } kCases[] = {
      {"all on the fastest", {kA, kA, kA, kA}, 30, {120, 0, 0}, 0, 0},
      {"all on the slowest", {kC, kC, kC, kC}, 120, {0, 0, 120}, 0, 0},
      {"everywhere", {7, 7, 7, 7}, 120.0 / 7, {480.0 / 7, 240.0 / 7, 120.0 / 7}, 2, 0},
      {"nobody can help the slow one", {kA, kA, kC, kA}, 30, {90, 0, 30}, 0, 0},
      {"part of it has a second holder", {kA, kB | kC, kC, kA}, 30, {70, 20, 30}, 0, 0},
      {"two at least",
       {kA | kB, kA | kC, kB | kC, 7},
       120.0 / 7,
       {480.0 / 7, 240.0 / 7, 120.0 / 7},
       1,
       0},
      {"one piece is lost", {kA, 0, kA, kA}, 25, {100, 0, 0}, 0, 20},
  };
  const std::vector<PlannedSegment> segments = {{1, {10, 20}}, {3, {10, 20}}};
  for (const auto& c : kCases) {
    const PlacementForecast f =
        forecast_placement({.drives = kDrives, .segments = segments}, c.holders);
    EXPECT_NEAR(f.seconds, c.seconds, 1e-9) << c.what;
    EXPECT_THAT(f.read_bytes, Pointwise(DoubleNear(1e-9), c.read_bytes)) << c.what;
    EXPECT_EQ(f.survives, c.survives) << c.what;
    EXPECT_EQ(f.lost_bytes, c.lost_bytes) << c.what;
    EXPECT_NEAR(f.bound_seconds, 120.0 / 7, 1e-9) << c.what;
  }
}

TEST(PlacementForecast, StoredBytesCountEachCopy) {
  const std::vector<PlannedDrive> drives = {{4, 1000}, {2, 1000}};
  const std::vector<PlannedSegment> segments = {{1, {10, 20}}, {0, {40}}};
  const std::vector<DriveSet> holders = {kA, kA | kB, kB};
  EXPECT_THAT(forecast_placement({.drives = drives, .segments = segments}, holders).stored_bytes,
              ElementsAre(30, 60));
}

struct Scattered {
  std::vector<PlannedDrive> drives;
  std::vector<PlannedSegment> segments;  // Of one piece each.
  std::vector<DriveSet> holders;
};

Scattered scattered(uint64_t seed) {
  std::mt19937_64 random(seed);
  Scattered s;
  const size_t drives = 1 + random() % 5;
  for (size_t d = 0; d < drives; ++d) {
    s.drives.push_back({.rate = static_cast<double>(1 + random() % 20), .room_bytes = 1000});
  }
  for (size_t p = 1 + random() % 12; p > 0; --p) {
    s.segments.push_back(
        {static_cast<double>(random() % 8), {static_cast<uint32_t>(1 + random() % 100)}});
    s.holders.push_back(static_cast<DriveSet>(1 + random() % ((1u << drives) - 1)));
  }
  return s;
}

double mass(const PlannedSegment& segment) { return segment.uses * segment.piece_bytes[0]; }

double least_seconds(const Scattered& s) {
  const size_t n = s.drives.size(), seconds = s.segments.size() * n;
  LinearProgram program(seconds + 1);
  for (size_t p = 0; p < s.segments.size(); ++p) {
    std::vector<std::pair<size_t, double>> parts;
    for (size_t d = 0; d < n; ++d) {
      if ((s.holders[p] >> d & 1u) != 0) parts.emplace_back(p * n + d, 1.0);
    }
    program.limit(parts, 1.0, true);
  }
  for (size_t d = 0; d < n; ++d) {
    std::vector<std::pair<size_t, double>> read = {{seconds, -s.drives[d].rate}};
    for (size_t p = 0; p < s.segments.size(); ++p)
      read.emplace_back(p * n + d, mass(s.segments[p]));
    program.limit(read, 0.0);
  }
  return program.least(seconds).value();
}

TEST(PlacementForecast, IsTheBestWayToRead) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Scattered s = scattered(seed);
    const PlacementForecast f =
        forecast_placement({.drives = s.drives, .segments = s.segments}, s.holders);
    const double least = least_seconds(s);
    EXPECT_NEAR(f.seconds, least, 1e-7 * (1.0 + least));
    double all = 0.0;
    for (const PlannedSegment& segment : s.segments) all += mass(segment);
    EXPECT_NEAR(std::accumulate(f.read_bytes.begin(), f.read_bytes.end(), 0.0), all, 1e-6);
    // The drives of any set read at least what nobody else has; so there is such a way to read.
    for (DriveSet set = 1; set < 1u << s.drives.size(); ++set) {
      double theirs = 0.0, read = 0.0;
      for (size_t p = 0; p < s.segments.size(); ++p) {
        if ((s.holders[p] & ~set) == 0) theirs += mass(s.segments[p]);
      }
      for (size_t d = 0; d < s.drives.size(); ++d) {
        if ((set >> d & 1u) != 0) read += f.read_bytes[d];
      }
      EXPECT_GE(read, theirs - 1e-6) << "drives " << set;
    }
  }
}

}  // namespace
}  // namespace sluice::format
