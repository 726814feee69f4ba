#pragma once
#include "io/read_bench.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::cli {

/// How long reads of one size took, one at a time.
struct ComparedLatency {
  uint64_t bytes = 0;
  io::Latency path{}, reference{};
};

/// What was measured of a drive and of the one that it is compared with.
struct DriveComparison {
  std::vector<ComparedLatency> latencies{};
  io::ReadSetting deep{};                    ///< With which the rates were measured.
  double path_rate = 0, reference_rate = 0;  ///< Bytes per second.
};

struct DriveVerdict {
  enum class Grade : uint8_t { kAsGood, kUsable, kTooSlow };
  Grade grade = Grade::kAsGood;
  std::string text;          ///< For people.
  double latency_ratio = 0;  ///< The worst of all medians and 90th percentiles.
  double rate_ratio = 0;
};
[[nodiscard]] const char* name(DriveVerdict::Grade grade);

// A read may take this many times as long as one of the reference, and the rate may be smaller by
// as much.
inline constexpr double kAsGoodRatio = 1.1, kUsableRatio = 1.5;

[[nodiscard]] DriveVerdict verdict_of(const DriveComparison& comparison);

}  // namespace sluice::cli
