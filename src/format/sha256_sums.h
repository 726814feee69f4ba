#pragma once
#include <map>
#include <string>
#include <string_view>

namespace sluice::format {

/// SHA-256 by file name, 64 lower-case hexadecimal digits.
using Sha256Sums = std::map<std::string, std::string, std::less<>>;

/// Parses what `sha256sum` writes: a line for each file, of which only the name counts and not its
/// folder. Throws Error(kCorrupt) that names `path` and the line when one is anything else, or two
/// contradict each other.
[[nodiscard]] Sha256Sums parse_sha256_sums(std::string_view text, const std::string& path);

}  // namespace sluice::format
