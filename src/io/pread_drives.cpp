#include "io/pread_drives.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "io/read_progress.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace sluice::io {

PreadDrives::PreadDrives(DriveFiles files)
    : files_(std::move(files)), drives_(files_.drive_count()) {}

// Delegates, so that the destructor ends the threads that run when one cannot be started.
PreadDrives::PreadDrives(const std::vector<std::string>& paths, PreadOptions options)
    : PreadDrives(DriveFiles(paths, options.direct)) {
  SLUICE_CHECK(options.threads >= 1);
  for (Drive& drive : drives_) {
    for (uint32_t t = 0; t < options.threads; ++t) {
      threads_.push_back(start_thread([this, &drive] { work(drive); }));
    }
  }
}

PreadDrives::~PreadDrives() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  for (Drive& drive : drives_) drive.has_work.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PreadDrives::submit(std::span<const Read> reads) {
  check_reads(reads, files_.size());
  const std::lock_guard lock(mutex_);
  for (const Read& read : reads) {
    Drive& drive = drives_[files_.drive(read.file).value];
    drive.queued.push_back(read);
    drive.has_work.notify_one();
  }
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

void PreadDrives::work(Drive& drive) {
  std::unique_lock lock(mutex_);
  for (;;) {
    drive.has_work.wait(lock, [&] { return stop_ || !drive.queued.empty(); });
    if (stop_) return;
    const Read read = drive.queued.front();
    drive.queued.pop_front();
    lock.unlock();
    const Completion completion = perform(read);
    lock.lock();
    done_.push_back(completion);
    has_done_.notify_all();
  }
}

Completion PreadDrives::perform(const Read& read) {
  InputFile& file = files_[read.file];
  ReadProgress progress(read, file);
  while (const std::optional<ReadProgress::Call> call = progress.next()) {
    progress.advance(file.read_some(call->offset, call->into));
  }
  return progress.completion();
}

}  // namespace sluice::io
