#pragma once
#include "base/types.h"

#include <algorithm>
#include <vector>

namespace sluice::stream {

/// Times that some intervals cover together, which come in the order of their ends.
class CoveredTime {
 public:
  struct Interval {
    Nanos begin{}, end{};
  };

  /// Calls `visit` with each part that no earlier interval covered.
  template <class Visit>
  void add(Interval interval, Visit visit) {
    Interval whole = interval;
    Nanos bare_until = interval.end;
    while (!intervals_.empty() && intervals_.back().end >= interval.begin) {
      const Interval& last = intervals_.back();
      if (last.end < bare_until) visit(Interval{last.end, bare_until});
      bare_until = std::min(bare_until, last.begin);
      whole = {std::min(whole.begin, last.begin), std::max(whole.end, last.end)};
      intervals_.pop_back();
    }
    if (interval.begin < bare_until) visit(Interval{interval.begin, bare_until});
    intervals_.push_back(whole);
  }
  void add(Interval interval) {
    add(interval, [](Interval) {});
  }

  /// Disjoint, in their order.
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }
  [[nodiscard]] Nanos total() const {
    Nanos sum{};
    for (const auto& [begin, end] : intervals_) sum += end - begin;
    return sum;
  }
  /// Of another's time, what is covered.
  [[nodiscard]] Nanos overlap(const std::vector<Interval>& others) const {
    Nanos sum{};
    for (const auto& [begin, end] : others) {
      auto mine = std::ranges::lower_bound(intervals_, begin, {}, &Interval::end);
      for (; mine != intervals_.end() && mine->begin < end; ++mine) {
        sum += std::min(end, mine->end) - std::max(begin, mine->begin);
      }
    }
    return sum;
  }

 private:
  std::vector<Interval> intervals_;
};

}  // namespace sluice::stream
