#include "format/sha256_sums.h"

#include "base/error.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace sluice::format {
namespace {

constexpr size_t kDigits = 64;

/// Digest and name of a line; both empty when it is none that sha256sum writes.
std::pair<std::string, std::string> parse_line(std::string_view line) {
  constexpr size_t kName = kDigits + 2;  // Behind a blank and the mark of text or binary.
  if (line.size() <= kName || line[kDigits] != ' ') return {};
  if (line[kDigits + 1] != ' ' && line[kDigits + 1] != '*') return {};
  std::string digest(line.substr(0, kDigits));
  for (char& c : digest) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (digest.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
  const std::string_view path = line.substr(kName);
  std::string name(path.substr(path.rfind('/') + 1));
  if (name.empty()) return {};
  return {std::move(digest), std::move(name)};
}

}  // namespace

Sha256Sums parse_sha256_sums(std::string_view text, const std::string& path) {
  Sha256Sums sums;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    auto [digest, name] = parse_line(line);
    if (digest.empty()) {
      throw Error(ErrorCode::kCorrupt,
                  "{}: line {} is not what sha256sum writes, 64 hexadecimal digits, two blanks and "
                  "a file name",
                  path, number);
    }
    const auto [at, added] = sums.try_emplace(std::move(name), digest);
    if (!added && at->second != digest) {
      throw Error(ErrorCode::kCorrupt, "{}: line {} gives another sum for {} than a line before",
                  path, number, at->first);
    }
  }
  return sums;
}

}  // namespace sluice::format
