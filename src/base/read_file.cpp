#include "base/read_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace sluice {

FileText read_file(const std::filesystem::path& path, uint64_t bytes_max) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  FileText result;
  std::array<char, 1u << 16> piece;
  while (file) {
    file.read(piece.data(), piece.size());
    result.text.append(piece.data(), static_cast<size_t>(file.gcount()));
    if (result.text.size() > bytes_max) {
      return {{}, fmt::format("has more than {} bytes", bytes_max)};
    }
  }
  if (!file.eof() || file.bad()) {
    return {
        {},
        fmt::format("cannot be read: {}", errno != 0 ? std::strerror(errno) : "unknown reason")};
  }
  return result;
}

}  // namespace sluice
