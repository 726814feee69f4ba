#pragma once
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <ratio>

namespace sluice {

using Nanos = std::chrono::nanoseconds;

constexpr double to_seconds(Nanos time) { return std::chrono::duration<double>(time).count(); }
constexpr double to_milliseconds(Nanos time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// An integer that cannot be confused with another kind of integer.
template <class Tag, class Rep>
struct Id {
  Rep value{};
  friend auto operator<=>(Id, Id) = default;
};

using TokenId = Id<struct TokenTag, int32_t>;
using FileId = Id<struct FileTag, uint16_t>;        ///< An open file of a DriveArray.
using DriveId = Id<struct DriveTag, uint16_t>;      ///< What files share a rate and a fate.
using ShardId = Id<struct ShardTag, uint16_t>;      ///< A file of the released checkpoint.
using SegmentId = Id<struct SegmentTag, uint32_t>;  ///< Dense: 0 .. segment count - 1.

/// `n` rounded up to a multiple of `unit`.
constexpr uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace sluice
