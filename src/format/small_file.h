#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::format {

/// The text of a file that is read and replaced as a whole; nothing when there is no such file.
/// Throws Error(kIo) that names the path.
[[nodiscard]] std::optional<std::string> read_if_there(const std::filesystem::path& path,
                                                       uint64_t bytes_max);

/// Replaces the file; it is on the disk when this returns. Throws Error(kIo).
void replace_file(const std::filesystem::path& path, std::string_view text);

}  // namespace sluice::format
