#include "format/append_file.h"

#include "base/error.h"
#include "format/output_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::format {

AppendFile::AppendFile(Opening, std::filesystem::path path)
    : path_((check_replaceable(path), std::move(path))),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(errno);
}

AppendFile::AppendFile(std::filesystem::path path, uint64_t keep)
    : AppendFile(Opening{}, std::move(path)) {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) fail(errno);
  const auto present = static_cast<uint64_t>(status.st_size);
  if (present < keep) {
    throw Error(ErrorCode::kCorrupt,
                "{}: has {} bytes, but the run to continue had written {}; restore it, or start "
                "anew without its progress file",
                path_.string(), present, keep);
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(keep)) != 0) fail(errno);
  bytes_ = keep;
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::fail(int error) const {
  const char* remedy = error == ENOENT   ? "; make its folder first"
                       : error == ENOSPC ? "; make room on this disk or choose another folder"
                                         : "";
  throw Error(ErrorCode::kIo, "{}: cannot be written: {}{}", path_.string(), std::strerror(error),
              remedy);
}

void AppendFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    bytes_ += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

uint64_t AppendFile::sync() {
  if (::fsync(descriptor_) != 0) fail(errno);
  return bytes_;
}

}  // namespace sluice::format
