#include "io/pread_drives.h"

#include "base/check.h"
#include "base/start_thread.h"

#include <algorithm>
#include <cerrno>

namespace sluice::io {

// Delegates, so that the destructor ends the threads that run when one cannot be started.
PreadDrives::PreadDrives(const std::vector<std::string>& paths, PreadOptions options)
    : PreadDrives() {
  SLUICE_CHECK(options.threads >= 1);
  const auto access = options.direct ? InputFile::Access::kDirect : InputFile::Access::kCached;
  for (const std::string& path : paths) files_.emplace_back(path, access);
  for (uint32_t t = 0; t < options.threads; ++t) {
    threads_.push_back(start_thread([this] { work(); }));
  }
}

PreadDrives::~PreadDrives() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

const std::string& PreadDrives::path(DriveId drive) const { return files_[drive.value].path(); }

bool PreadDrives::direct(DriveId drive) const { return files_[drive.value].direct(); }

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
  // A standard library adds the timeout to the time of day, which must not overflow.
  has_done_.wait_for(lock, std::min<Nanos>(timeout, std::chrono::hours(24)),
                     [&] { return !done_.empty() || woken_; });
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
    if (stop_) return;
    const Read read = queued_.front();
    queued_.pop_front();
    lock.unlock();
    const Completion completion = perform(read);
    lock.lock();
    done_.push_back(completion);
    has_done_.notify_all();
  }
}

// Reads until all of it is there or the file ends, which it may by less than a block before the
// read does.
Completion PreadDrives::perform(const Read& read) {
  InputFile& file = files_[read.drive.value];
  const uint64_t left_in_file = file.bytes() > read.offset ? file.bytes() - read.offset : 0;
  const uint64_t wanted = std::min<uint64_t>(read.into.size(), left_in_file);
  if (wanted + kBlockBytes <= read.into.size()) return {read.id, ReadStatus::kShort, 0};
  for (uint64_t done = 0; done < wanted;) {
    // A direct read is of whole blocks, also where the file ends inside one.
    const bool direct = file.direct();
    const uint64_t from = direct ? done / kBlockBytes * kBlockBytes : done;
    const int64_t n =
        file.read_some(read.offset + from,
                       direct ? read.into.subspan(from) : read.into.subspan(from, wanted - from));
    if (n < 0 && !(direct && n == -EINVAL)) {
      return {read.id, ReadStatus::kIoError, static_cast<int>(-n)};
    }
    if (n == 0) return {read.id, ReadStatus::kShort, 0};
    const uint64_t reached = n < 0 ? 0 : from + static_cast<uint64_t>(n);
    if (direct && reached <= done) {
      // Direct reads are refused after all, or come in parts too small to go on from a block.
      file.stop_direct();
      continue;
    }
    done = reached;
  }
  return {read.id, ReadStatus::kOk, 0};
}

}  // namespace sluice::io
