#include "format/small_file.h"

#include "base/error.h"
#include "base/read_file.h"
#include "format/output_file.h"

#include <utility>

namespace sluice::format {

namespace fs = std::filesystem;

std::optional<std::string> read_if_there(const fs::path& path, uint64_t bytes_max) {
  std::error_code ignored;
  if (fs::status(path, ignored).type() == fs::file_type::not_found) return std::nullopt;
  FileText file = read_file(path, bytes_max);
  if (!file.trouble.empty()) {
    throw Error(ErrorCode::kIo, "{}: cannot be read: {}", path.string(), file.trouble);
  }
  return std::move(file.text);
}

void replace_file(const fs::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace sluice::format
