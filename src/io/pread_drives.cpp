#include "io/pread_drives.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_DIRECT
#define O_DIRECT 0  // Systems without it go around the cache by other means, or not at all.
#endif

namespace sluice::io {
namespace {

// One call moves at most 0x7ffff000 bytes on Linux and INT_MAX on macOS; this is aligned and below
// both.
constexpr size_t kCallBytesMax = size_t{1} << 30;

int open_direct(const std::string& path) {
#if defined(__APPLE__)
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) ::fcntl(file, F_NOCACHE, 1);
  return file;
#else
  return O_DIRECT == 0 ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
#endif
}

}  // namespace

PreadDrives::PreadDrives(std::vector<std::string> paths, PreadOptions options)
    : paths_(std::move(paths)) {
  SLUICE_CHECK(options.threads >= 1);
  for (const std::string& path : paths_) open(path, options.direct);
  for (uint32_t t = 0; t < options.threads; ++t) threads_.emplace_back([this] { work(); });
}

void PreadDrives::open(const std::string& path, bool direct) {
  File& file = files_.emplace_back();
  file.buffered = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status{};
  if (file.buffered < 0 || ::fstat(file.buffered, &status) != 0) {
    const int error = errno;
    close_all();
    throw Error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                "{}: cannot be opened: {}{}", path, std::strerror(error),
                error == EMFILE ? "; raise the limit with 'ulimit -n 1024'" : "");
  }
  file.bytes = static_cast<uint64_t>(status.st_size);
  if (direct) file.direct = open_direct(path);
  file.use_direct = file.direct >= 0;
}

void PreadDrives::close_all() {
  for (const File& file : files_) {
    if (file.buffered >= 0) ::close(file.buffered);
    if (file.direct >= 0) ::close(file.direct);
  }
}

PreadDrives::~PreadDrives() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  close_all();
}

bool PreadDrives::direct(DriveId drive) const { return files_[drive.value].use_direct; }

void PreadDrives::submit(std::span<const Read> reads) {
  {
    const std::lock_guard lock(mutex_);
    for (const Read& read : reads) {
      SLUICE_CHECK(read.drive.value < files_.size());
      SLUICE_CHECK(read.offset % kBlockBytes == 0 && read.into.size() % kBlockBytes == 0);
      SLUICE_CHECK(reinterpret_cast<uintptr_t>(read.into.data()) % kBlockBytes == 0);
      queued_.push_back(read);
    }
  }
  has_work_.notify_all();
}

size_t PreadDrives::wait(std::span<Completion> out, Nanos timeout) {
  std::unique_lock lock(mutex_);
  has_done_.wait_for(lock, timeout, [&] { return !done_.empty() || woken_; });
  woken_ = false;
  const size_t count = std::min(out.size(), done_.size());
  std::copy_n(done_.begin(), count, out.begin());
  done_.erase(done_.begin(), done_.begin() + static_cast<ptrdiff_t>(count));
  return count;
}

void PreadDrives::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  has_done_.notify_all();
}

Nanos PreadDrives::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

void PreadDrives::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return stop_ || !queued_.empty(); });
    if (queued_.empty()) return;
    const Read read = queued_.front();
    queued_.pop_front();
    lock.unlock();
    const Completion completion = perform(read);
    lock.lock();
    done_.push_back(completion);
    has_done_.notify_all();
  }
}

// Reads until all of it is there or the file ends; the last block of a file may be short by less
// than a block.
Completion PreadDrives::perform(const Read& read) {
  File& file = files_[read.drive.value];
  const uint64_t wanted =
      std::min<uint64_t>(read.into.size(), file.bytes > read.offset ? file.bytes - read.offset : 0);
  if (wanted + kBlockBytes <= read.into.size()) return {read.id, ReadStatus::kShort, 0};
  bool direct_now = file.use_direct;
  int descriptor = direct_now ? file.direct : file.buffered;
  for (uint64_t done = 0; done < wanted;) {
    // A direct read asks for whole blocks, also past the end of the file.
    const uint64_t left = direct_now ? read.into.size() - done : wanted - done;
    const ssize_t n =
        ::pread(descriptor, read.into.data() + done, std::min<uint64_t>(left, kCallBytesMax),
                static_cast<off_t>(read.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && direct_now && errno == EINVAL) {  // Opened, but this file system does not read so.
      file.use_direct = false;
      direct_now = false;
      descriptor = file.buffered;
      continue;
    }
    if (n < 0) return {read.id, ReadStatus::kIoError, errno};
    if (n == 0) return {read.id, ReadStatus::kShort, 0};
    done += static_cast<uint64_t>(n);
    // What follows a short direct read would start off a block boundary; the cache has no such
    // rule.
    if (direct_now && done < wanted && done % kBlockBytes != 0) {
      direct_now = false;
      descriptor = file.buffered;
    }
  }
  return {read.id, ReadStatus::kOk, 0};
}

}  // namespace sluice::io
