#include "io/pread_drives.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "io/read_progress.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

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
  check_reads(reads, files_.size());
  {
    const std::lock_guard lock(mutex_);
    queued_.insert(queued_.end(), reads.begin(), reads.end());
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

std::string PreadDrives::method() const {
  return fmt::format("pread on {} threads", threads_.size());
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

Completion PreadDrives::perform(const Read& read) {
  InputFile& file = files_[read.drive.value];
  ReadProgress progress(read, file);
  while (const std::optional<ReadProgress::Call> call = progress.next()) {
    progress.advance(file.read_some(call->offset, call->into));
  }
  return progress.completion();
}

}  // namespace sluice::io
