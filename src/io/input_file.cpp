#include "io/input_file.h"

#include "base/check.h"
#include "base/error.h"
#include "io/direct_reads.h"
#include "io/drive_array.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::io {
namespace {

// Whether direct reads of whole blocks are aligned enough for the file system, as far as it tells.
[[maybe_unused]] bool takes_blocks(int descriptor) {
  const std::optional<DirectReads> reads = direct_reads(descriptor);
  return !reads || (reads->allowed && reads->offset_bytes <= kBlockBytes &&
                    reads->memory_bytes <= kBlockBytes);
}

// Linux takes the flag when it opens a file, macOS afterwards, and other systems have none.
int open_direct(const char* path) {
#if defined(__APPLE__)
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || ::fcntl(descriptor, F_NOCACHE, 1) == 0) return descriptor;
  ::close(descriptor);
  return -1;
#elif defined(O_DIRECT)
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (descriptor < 0 || takes_blocks(descriptor)) return descriptor;
  ::close(descriptor);
  return -1;
#else
  return -1;
#endif
}

const char* remedy(int error) {
  return error == EMFILE || error == ENFILE ? "; raise the limit, for example with 'ulimit -n 1024'"
                                            : "";
}

}  // namespace

InputFile::InputFile(const std::string& path, Access access) : path_(path) {
  if (access == Access::kDirect) {
    descriptor_ = open_direct(path_.c_str());
    direct_ = descriptor_ >= 0;
  }
  if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && !S_ISDIR(status.st_mode)) {
    bytes_ = static_cast<uint64_t>(status.st_size);
    device_ = static_cast<uint64_t>(status.st_dev);
    return;
  }
  const int error = descriptor_ >= 0 && S_ISDIR(status.st_mode) ? EISDIR : errno;
  if (descriptor_ >= 0) ::close(descriptor_);
  throw Error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: cannot be opened: {}{}",
              path_, std::strerror(error), remedy(error));
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::look_again() {
  struct stat status{};
  if (::fstat(descriptor_, &status) == 0) bytes_ = static_cast<uint64_t>(status.st_size);
}

int64_t InputFile::read_some(uint64_t offset, std::span<std::byte> into) const {
  for (;;) {
    const ssize_t n = ::pread(descriptor_, into.data(), std::min(into.size(), kCallBytesMax),
                              static_cast<off_t>(offset));
    if (n >= 0) return n;
    if (errno != EINTR) return -errno;
  }
}

void InputFile::read(uint64_t offset, std::span<std::byte> into) const {
  SLUICE_CHECK(!direct());
  for (size_t done = 0; done < into.size();) {
    const int64_t n = read_some(offset + done, into.subspan(done));
    if (n <= 0) {
      throw Error(ErrorCode::kIo, "{}: cannot be read at byte {}: {}", path_, offset + done,
                  n < 0 ? std::strerror(static_cast<int>(-n)) : "the file ends there");
    }
    done += static_cast<size_t>(n);
  }
}

void InputFile::stop_direct() {
#if defined(__APPLE__)
  ::fcntl(descriptor_, F_NOCACHE, 0);
#elif defined(O_DIRECT)
  ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_DIRECT);
#endif
  direct_ = false;
}

}  // namespace sluice::io
