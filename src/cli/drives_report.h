#pragma once
#include "io/read_bench.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// What measuring one drive gave.
struct MeasuredDrive {
  std::string name;                   ///< For people: its paths.
  std::vector<std::string> paths{};   ///< By which it was measured.
  std::string refused{};              ///< Why there are no figures; empty: there are.
  uint64_t file_bytes = 0;            ///< Of all its files.
  double write_bytes_per_second = 0;  ///< Of a new file, a call after the other; 0: there was none.
  std::vector<io::ReadCell> cells{};
  io::ReadCeiling ceiling{};
};

/// What all drives gave at the same time, each at the setting that is enough for it alone.
struct DrivesTogether {
  double bytes_per_second = 0;
  double sum_of_ceilings = 0;
  std::vector<io::ReadCell> drives{};  ///< In the order of the drives that have figures.
};

struct DrivesReport {
  std::string method{};  ///< How it was read, in words.
  std::vector<MeasuredDrive> drives{};
  std::optional<DrivesTogether> together{};
};

[[nodiscard]] std::string text_of(const DrivesReport& report);
[[nodiscard]] std::string json_of(const DrivesReport& report);
/// GB/s by the size of a read: of one drive a line for each depth, of several a line for each.
[[nodiscard]] std::string svg_of(const DrivesReport& report);

}  // namespace sluice::cli
