#pragma once
#include "io/drive_array.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::io {

struct PreadOptions {
  uint32_t threads = 4;  ///< Reads in flight.
  bool direct = true;    ///< Go around the page cache where the file system allows it.
};

/// Drives read by a few threads with pread(): works on any POSIX system. A file whose file system
/// refuses direct reads, when it is opened or when it is first read, is read through the page cache
/// instead, and direct() says so.
class PreadDrives final : public DriveArray {
 public:
  /// Opens all files. Throws Error that names the one that cannot be opened; kIo with the remedy
  /// when the process may not open so many.
  PreadDrives(std::vector<std::string> paths, PreadOptions options);
  /// Waits for reads under way.
  ~PreadDrives() override;

  [[nodiscard]] size_t drive_count() const override { return files_.size(); }
  [[nodiscard]] const std::string& path(DriveId drive) const override {
    return paths_[drive.value];
  }
  [[nodiscard]] bool direct(DriveId drive) const override;
  void submit(std::span<const Read> reads) override;
  size_t wait(std::span<Completion> out, Nanos timeout) override;
  void wake() override;
  [[nodiscard]] Nanos now() const override;

 private:
  struct File {
    int buffered = -1;
    int direct = -1;  // -1 where direct reads were refused at once or not asked for.
    uint64_t bytes = 0;
    std::atomic<bool> use_direct{false};  // Turns false when a direct read is refused.
  };

  void open(const std::string& path, bool direct);
  void work();
  [[nodiscard]] Completion perform(const Read& read);
  void close_all();

  const std::vector<std::string> paths_;
  std::deque<File> files_;  // Its elements do not move.

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable has_work_, has_done_;
  std::deque<Read> queued_;
  std::deque<Completion> done_;
  bool woken_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::io
