// Without these tests some set of drives could get a plan that overfills one, that a permitted loss
// makes unreadable, or that is slower than it has to be.
#include "format/placement_planner.h"
#include "format/test_linear_program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::format {
namespace {

struct Sizes {
  size_t drives = 1;    // At most.
  size_t segments = 1;  // Likewise.
  size_t pieces = 1;    // Of a segment, likewise.
};

class RandomCase {
 public:
  RandomCase(uint64_t seed, Sizes most) : random_(seed) {
    survive = static_cast<uint32_t>(random_() % 3);
    draw_segments(1 + random_() % most.segments, most.pieces);
    draw_drives(std::max<size_t>(1 + random_() % most.drives, survive + 1));
  }

  [[nodiscard]] PlacementRequest request() const {
    return {.drives = drives, .segments = segments, .survive = survive};
  }
  [[nodiscard]] double total(bool used) const {
    double total = 0.0;
    for (const PlannedSegment& s : segments) {
      for (const uint32_t b : s.piece_bytes) total += b * (used ? s.uses : 1.0);
    }
    return total;
  }
  /// What two pieces more than planned cost where they cost most.
  [[nodiscard]] double two_pieces_seconds() const {
    double uses = 0.0, rate = drives[0].rate;
    for (const PlannedSegment& s : segments) uses = std::max(uses, s.uses);
    for (const PlannedDrive& d : drives) rate = std::min(rate, d.rate);
    return 2.0 * kPieceBytes * uses / rate;
  }

  std::vector<PlannedDrive> drives;
  std::vector<PlannedSegment> segments;
  uint32_t survive = 0;

 private:
  static constexpr uint32_t kPieceBytes = 1u << 20;

  double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

  void draw_segments(size_t count, size_t pieces_most) {
    const uint64_t kind = random_() % 4;
    for (size_t s = 0; s < count; ++s) {
      PlannedSegment segment;
      const double zipf = std::pow(1.0 + static_cast<double>(random_() % count), -0.8);
      segment.uses = kind == 0 ? 3.0 : kind == 1 ? std::floor(20.0 * zipf) : zipf;
      if (kind == 3 && random_() % 3 == 0) segment.uses = 0.0;
      segment.piece_bytes.assign(pieces_most - random_() % (1 + pieces_most / 2), kPieceBytes);
      if (random_() % 2 == 0) {
        segment.piece_bytes.back() = 4096 * static_cast<uint32_t>(1 + random_() % 256);
      }
      segments.push_back(std::move(segment));
    }
  }

  // From just enough room to plenty, and two pieces more, since pieces do not fill every gap.
  void draw_drives(size_t count) {
    std::vector<double> size;
    for (size_t d = 0; d < count; ++d) {
      drives.push_back({.rate = 1e9 * std::exp(3.0 * uniform())});
      size.push_back(d > survive && random_() % 8 == 0 ? 0.0 : 1e-3 + std::pow(uniform(), 3.0));
    }
    const double bytes = total(false), slack[] = {0.0, 0.02, 0.3, 2.0};
    const double enough = bytes * (survive + 1) * (1.0 + slack[random_() % 4]);
    for (double scale = 0.01; scale < 2000.0; scale *= 1.01) {
      double usable = 0.0;
      for (size_t d = 0; d < count; ++d) {
        const double room = scale * size[d] * bytes;
        drives[d].room_bytes = static_cast<uint64_t>(room) + uint64_t{2} * kPieceBytes;
        usable += std::min(room, bytes);
      }
      if (usable >= enough) break;
    }
  }

  std::mt19937_64 random_;
};

// Capacity, copies that lie apart, and reading after the loss of any drives that may be lost.
void expect_sound(const RandomCase& c, const PlacementPlan& plan) {
  std::vector<uint64_t> stored(c.drives.size());
  size_t next = 0;
  for (const PlannedSegment& segment : c.segments) {
    for (const uint32_t bytes : segment.piece_bytes) {
      const DriveSet set = plan.holders.at(next++);
      ASSERT_LT(set, 1u << c.drives.size());
      EXPECT_LE(std::popcount(set), 8);
      for (size_t d = 0; d < stored.size(); ++d) stored[d] += (set >> d & 1u) != 0 ? bytes : 0;
    }
  }
  EXPECT_EQ(next, plan.holders.size());
  EXPECT_EQ(stored, plan.forecast.stored_bytes);
  for (size_t d = 0; d < stored.size(); ++d) EXPECT_LE(stored[d], c.drives[d].room_bytes);
  EXPECT_GE(plan.forecast.survives, c.survive);
  for (DriveSet lost = 0; lost < 1u << c.drives.size(); ++lost) {
    if (std::popcount(lost) > static_cast<int>(c.survive)) continue;
    EXPECT_TRUE(std::ranges::all_of(plan.holders, [&](DriveSet s) { return (s & ~lost) != 0; }))
        << "lost " << lost;
  }
}

TEST(PlacementProperty, EveryPlanIsSoundAndFast) {
  int within_two_percent = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase c(seed, {.drives = 8, .segments = 300, .pieces = 18});
    const PlacementPlan plan = plan_placement(c.request());
    ASSERT_TRUE(plan.fits) << plan.missing_bytes;
    expect_sound(c, plan);
    EXPECT_EQ(plan.holders, plan_placement(c.request()).holders);
    const PlacementForecast& f = plan.forecast;
    EXPECT_GE(f.seconds, f.bound_seconds * (1.0 - 1e-9));
    EXPECT_LE(f.seconds, 1.02 * f.bound_seconds + c.two_pieces_seconds());
    if (f.seconds <= 1.02 * f.bound_seconds) ++within_two_percent;
  }
  EXPECT_GE(within_two_percent, 360);  // The others have few pieces.
}

// All ways to divide segments, copies and reads among the drives, as a linear program.
double least_seconds(const RandomCase& c) {
  const size_t n = c.drives.size(), parts = c.segments.size() * n, seconds = 2 * parts;
  const double bytes = c.total(false), mass = c.total(true);
  using Terms = std::vector<std::pair<size_t, double>>;
  LinearProgram program(2 * parts + 1);
  std::vector<Terms> stored(n), read(n, Terms{});
  for (size_t s = 0; s < c.segments.size(); ++s) {
    double part = 0.0;
    for (const uint32_t b : c.segments[s].piece_bytes) part += b;
    Terms copies, reads;
    for (size_t d = 0; d < n; ++d) {
      const size_t reading = s * n + d, storing = parts + reading;
      reads.emplace_back(reading, 1.0);
      copies.emplace_back(storing, 1.0);
      program.limit({{storing, 1.0}}, 1.0);
      program.limit({{reading, 1.0}, {storing, -1.0}}, 0.0);
      stored[d].emplace_back(storing, part / bytes);
      read[d].emplace_back(reading, part * c.segments[s].uses / mass);
    }
    program.limit(reads, 1.0, true);
    program.limit(copies, c.survive + 1.0, true);
  }
  double rates = 0.0;
  for (const PlannedDrive& d : c.drives) rates += d.rate;
  for (size_t d = 0; d < n; ++d) {
    program.limit(stored[d], static_cast<double>(c.drives[d].room_bytes) / bytes);
    read[d].emplace_back(seconds, -c.drives[d].rate / rates);
    program.limit(read[d], 0.0);
  }
  return program.least(seconds).value() * mass / rates;
}

TEST(PlacementProperty, NoDivisionIsFaster) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomCase c(seed, {.drives = 4, .segments = 5, .pieces = 2000});
    if (c.total(true) == 0.0) continue;
    const PlacementPlan plan = plan_placement(c.request());
    ASSERT_TRUE(plan.fits);
    const double least = least_seconds(c);
    EXPECT_NEAR(plan.forecast.bound_seconds, least, 1e-6 * least);
    EXPECT_LE(plan.forecast.seconds, 1.02 * least);
  }
}

TEST(PlacementProperty, EqualPiecesFillRoomToTheLastByte) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto survive = static_cast<uint32_t>(random() % 3);
    const size_t pieces = 1 + random() % 60, drives = survive + 1 + random() % 5;
    std::vector<PlannedDrive> d(drives);
    for (PlannedDrive& drive : d) drive.rate = static_cast<double>(1 + random() % 9);
    for (size_t room = pieces * (survive + 1); room > 0;) {
      PlannedDrive& drive = d[random() % drives];
      if (drive.room_bytes == pieces * 4096) continue;
      drive.room_bytes += 4096;
      --room;
    }
    std::vector<PlannedSegment> segments;
    for (size_t p = 0; p < pieces; ++p) segments.push_back({static_cast<double>(p % 5), {4096}});
    const PlacementPlan plan =
        plan_placement({.drives = d, .segments = segments, .survive = survive});
    ASSERT_TRUE(plan.fits);
    EXPECT_EQ(plan.forecast.survives, survive);
  }
}

}  // namespace
}  // namespace sluice::format
