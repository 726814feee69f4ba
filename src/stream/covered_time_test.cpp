// Without these tests a drive's busy time could count twice what overlaps.
#include "stream/covered_time.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

CoveredTime::Interval from(int begin, int end) { return {Nanos(begin), Nanos(end)}; }

TEST(CoveredTime, CountsWhatOverlapsOnce) {
  struct Case {
    std::vector<CoveredTime::Interval> intervals;
    int total;
    size_t apart;
  };
  for (const Case& c : {Case{{}, 0, 0}, Case{{from(1, 3), from(5, 6)}, 3, 2},
                        Case{{from(1, 3), from(2, 6)}, 5, 1}, Case{{from(1, 3), from(3, 4)}, 3, 1},
                        Case{{from(1, 2), from(4, 5), from(7, 8), from(0, 9)}, 9, 1},
                        Case{{from(1, 2), from(4, 5), from(5, 8), from(3, 8)}, 6, 2},
                        Case{{from(1, 4), from(2, 4)}, 3, 1}, Case{{from(2, 2)}, 0, 1}}) {
    CoveredTime time;
    Nanos bare{};
    for (const CoveredTime::Interval& interval : c.intervals) {
      time.add(interval, [&](CoveredTime::Interval part) { bare += part.end - part.begin; });
    }
    EXPECT_EQ(time.total(), Nanos(c.total));
    EXPECT_EQ(bare, Nanos(c.total));
    EXPECT_EQ(time.intervals().size(), c.apart);
  }
}

// Against counting each moment.
TEST(CoveredTime, AnyIntervals) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    CoveredTime time;
    std::vector<int> covered(200);
    int end = 0, wanted = 0, both = 0;
    while (end < 150) {
      end += static_cast<int>(random() % 20);
      const int begin = end - std::min(end, static_cast<int>(random() % 40));
      time.add(from(begin, end));
      for (int at = begin; at < end; ++at) covered[static_cast<size_t>(at)] = 1;
    }
    const std::vector<CoveredTime::Interval> others = {from(3, 30), from(40, 41), from(90, 160)};
    for (int at = 0; at < 200; ++at) {
      const bool other = (at >= 3 && at < 30) || at == 40 || (at >= 90 && at < 160);
      wanted += covered[static_cast<size_t>(at)];
      both += other ? covered[static_cast<size_t>(at)] : 0;
    }
    ASSERT_EQ(time.total(), Nanos(wanted)) << round;
    ASSERT_EQ(time.overlap(others), Nanos(both)) << round;
  }
}

}  // namespace
}  // namespace sluice::stream
