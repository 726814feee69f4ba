#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

/// The contents of a file, or why they cannot be had.
struct FileText {
  std::string text;
  std::string trouble;  ///< Empty when all is well; else the reason, without the path.
};

/// Reads a whole file of at most `bytes_max`, which also ends the reading of a device that never
/// does.
[[nodiscard]] FileText read_file(const std::filesystem::path& path, uint64_t bytes_max);

}  // namespace sluice
