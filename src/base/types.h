#pragma once
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace sluice {

using Nanos = std::chrono::nanoseconds;

/// An integer that cannot be confused with another kind of integer.
template <class Tag, class Rep>
struct Id {
  Rep value{};
  friend auto operator<=>(Id, Id) = default;
};

using TokenId = Id<struct TokenTag, int32_t>;
using DriveId = Id<struct DriveTag, uint16_t>;      ///< A file or device that a DriveArray reads.
using SegmentId = Id<struct SegmentTag, uint32_t>;  ///< Dense: 0 .. segment count - 1.

/// `n` rounded up to a multiple of `unit`.
constexpr uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace sluice
