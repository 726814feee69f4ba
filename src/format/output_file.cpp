#include "format/output_file.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sluice::format {
namespace {

constexpr size_t kBufferBytes = 1u << 20;
constexpr size_t kCallBytesMax = size_t{1} << 30;  // Below what one call moves on any system.

}  // namespace

void check_replaceable(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::file_type kind = std::filesystem::symlink_status(path, ignored).type();
  if (kind != std::filesystem::file_type::not_found &&
      kind != std::filesystem::file_type::regular) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: is not a regular file and would be replaced; give another name",
                path.string());
  }
}

OutputFile::OutputFile(std::filesystem::path path)
    : path_((check_replaceable(path), std::move(path))),
      temporary_(path_.string().append(kTemporarySuffix)),
      descriptor_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
}

void OutputFile::fail(int error) const {
  const char* remedy = error == ENOENT   ? "; make its folder first"
                       : error == ENOSPC ? "; make room on this disk or choose another folder"
                                         : "";
  throw Error(ErrorCode::kIo, "{}: cannot be written: {}{}", path_.string(), std::strerror(error),
              remedy);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() < kBufferBytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return;
  }
  write_through(flushed_, bytes);
  flushed_ += bytes.size();
}

void OutputFile::skip(uint64_t bytes) {
  if (bytes == 0) return;
  flush();
  flushed_ += bytes;
}

void OutputFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  flush();
  write_through(offset, bytes);
}

void OutputFile::flush() {
  write_through(flushed_, buffer_);
  flushed_ += buffer_.size();
  buffer_.clear();
}

void OutputFile::write_through(uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kCallBytesMax),
                               static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    offset += static_cast<uint64_t>(n);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::sync() {
  flush();
  // A hole at the end is part of the file too.
  if (::ftruncate(descriptor_, static_cast<off_t>(flushed_)) != 0 || ::fsync(descriptor_) != 0) {
    fail(errno);
  }
}

void OutputFile::commit() {
  SLUICE_CHECK(!committed_);
  sync();
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  committed_ = true;
  sync_folder();
}

// A folder that may not be listed, and a file system that does not know how, keep names as they
// can.
void OutputFile::sync_folder() const {
  const std::filesystem::path folder = path_.parent_path();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const int error = ::fsync(descriptor) != 0 ? errno : 0;
  ::close(descriptor);
  if (error != 0 && error != EINVAL && error != ENOTSUP) fail(error);
}

}  // namespace sluice::format
