#pragma once
#include <string_view>

namespace sluice::format {

/// Whether a name from a file can be joined to a folder: it must not lead out of it, nor name a
/// hidden file.
[[nodiscard]] inline bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find_first_of("/\\") == name.npos &&
         name.find('\0') == name.npos;
}

}  // namespace sluice::format
