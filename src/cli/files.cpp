#include "cli/files.h"

#include "base/error.h"
#include "base/read_file.h"
#include "format/output_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace sluice::cli {

std::string read_text(std::string_view option, const std::string& path) {
  constexpr uint64_t kBytesMax = 1u << 30;
  FileText file = read_file(path, kBytesMax);
  if (file.trouble.empty()) return std::move(file.text);
  const bool exists = std::filesystem::exists(path);
  throw Error(exists ? ErrorCode::kIo : ErrorCode::kNotFound, "{}: {} {}", option, path,
              file.trouble);
}

void check_writable(std::string_view option, const std::string& path) {
  if (path.empty()) return;
  format::check_replaceable(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const std::string place = folder.empty() ? "." : folder.string();
  if (access(place.c_str(), W_OK) == 0) return;
  throw Error(ErrorCode::kIo, "{}: cannot write {}: {}", option, path, std::strerror(errno));
}

}  // namespace sluice::cli
