#pragma once
#include <string>
#include <string_view>

namespace sluice::cli {

/// The whole file that an option names. Throws Error that names option and path: kNotFound, kIo.
[[nodiscard]] std::string read_text(std::string_view option, const std::string& path);

/// Fails before hours of work rather than after them: throws Error that names option and path when
/// no file can be written there. An empty path is none.
void check_writable(std::string_view option, const std::string& path);

}  // namespace sluice::cli
