#pragma once
#include "base/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sluice::server {

/// How long many things took: counts in buckets of an eighth of an octave, from 16 µs to 69 s. What
/// is shorter or longer counts in the first or the last one.
class LatencyBuckets {
 public:
  static constexpr uint32_t kShortest = 14;  ///< 2^14 ns
  static constexpr uint32_t kOctaves = 22, kPerOctave = 8;

  void add(Nanos time) {
    ++counts_[bucket_of(time)];
    ++count_;
    sum_ += time;
  }
  void add(const LatencyBuckets& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] Nanos sum() const { return sum_; }
  /// What that share (0 to 1) of them did not exceed, to within a sixteenth; 0 of none.
  [[nodiscard]] Nanos percentile(double share) const {
    if (count_ == 0) return {};
    const auto rank = static_cast<uint64_t>(share * static_cast<double>(count_ - 1)) + 1;
    uint64_t below = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      below += counts_[i];
      if (below >= rank) return (end_of(i) + begin_of(i)) / 2;
    }
    return end_of(counts_.size() - 1);
  }
  /// Calls visit(end, count) for each octave but the last: how many took at most `end`.
  template <class Visit>
  void each_octave(Visit visit) const {
    uint64_t below = 0;
    for (size_t i = 0; i + kPerOctave < counts_.size(); ++i) {
      below += counts_[i];
      if (i % kPerOctave == kPerOctave - 1) visit(end_of(i), below);
    }
  }

 private:
  // A bucket has its end and not its beginning.
  static size_t bucket_of(Nanos time) {
    constexpr uint64_t kFirst = uint64_t{1} << kShortest;
    const auto ns =
        std::max<uint64_t>(static_cast<uint64_t>(std::max(time, Nanos(1)).count()) - 1, kFirst);
    const auto octave = static_cast<uint32_t>(std::bit_width(ns)) - 1;
    const uint64_t within = (ns >> (octave - 3)) & (kPerOctave - 1);
    return std::min<size_t>((octave - kShortest) * kPerOctave + within, kOctaves * kPerOctave - 1);
  }
  static Nanos begin_of(size_t bucket) {
    const auto octave = static_cast<uint32_t>(bucket / kPerOctave) + kShortest;
    return Nanos(static_cast<int64_t>((kPerOctave + bucket % kPerOctave) << (octave - 3)));
  }
  static Nanos end_of(size_t bucket) { return begin_of(bucket + 1); }

  std::array<uint64_t, size_t{kOctaves} * kPerOctave> counts_{};
  uint64_t count_ = 0;
  Nanos sum_{};
};

}  // namespace sluice::server
