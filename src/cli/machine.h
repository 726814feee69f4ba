#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::cli {

/// What figures depend on besides the program, as far as the system tells.
struct Machine {
  std::string processor;      ///< "AMD EPYC 9354P"; the architecture where no name is told.
  uint32_t processors = 0;    ///< That this process may use.
  uint64_t memory_bytes = 0;  ///< Physical; 0: unknown.
  std::string system;         ///< "Linux 6.1.0 x86_64".
};
[[nodiscard]] Machine this_machine();

/// The processor's name in the text of /proc/cpuinfo; empty when it has none, as on many Arm
/// machines.
[[nodiscard]] std::string parse_processor(std::string_view cpuinfo);

/// The command line of this process, quoted for a shell where that is needed; empty where the
/// system does not tell.
[[nodiscard]] std::string command_line();

/// "2026-01-31T12:00:00Z".
[[nodiscard]] std::string utc_time();

}  // namespace sluice::cli
