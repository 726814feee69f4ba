#pragma once
#include "io/drive_array.h"
#include "io/drive_files.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace sluice::io {

struct PreadOptions {
  uint32_t threads = 4;  ///< For each drive: reads in flight.
  bool direct = true;    ///< Go around the page cache where the file system allows it.
};

/// Drives read by a few threads each with pread(): works on any POSIX system, and a drive that
/// hangs holds no other up. A file whose file system refuses direct reads, when it is opened or
/// when it is first read, is read through the page cache instead, and direct() says so.
class PreadDrives final : public DriveArray {
 public:
  /// Opens all files, with one descriptor each. Throws Error that names the one that cannot be
  /// opened; kIo with the remedy when the process may not open so many, and as start_thread() does.
  PreadDrives(const std::vector<std::string>& paths, PreadOptions options);
  /// Waits for reads under way; those that have not begun are dropped.
  ~PreadDrives() override;

  [[nodiscard]] size_t file_count() const override { return files_.size(); }
  [[nodiscard]] const std::string& path(FileId file) const override { return files_[file].path(); }
  [[nodiscard]] DriveId drive(FileId file) const override { return files_.drive(file); }
  [[nodiscard]] size_t drive_count() const override { return files_.drive_count(); }
  [[nodiscard]] bool direct(FileId file) const override { return files_[file].direct(); }
  void submit(std::span<const Read> reads) override;
  size_t wait(std::span<Completion> out, Nanos timeout) override;
  void wake() override;
  [[nodiscard]] Nanos now() const override;
  [[nodiscard]] std::string method() const override;

 private:
  struct Drive {
    std::deque<Read> queued;
    std::condition_variable has_work;
  };

  explicit PreadDrives(DriveFiles files);
  void work(Drive& drive);
  [[nodiscard]] Completion perform(const Read& read);

  DriveFiles files_;

  std::mutex mutex_;  // Guards everything below.
  std::condition_variable has_done_;
  std::deque<Drive> drives_;
  std::deque<Completion> done_;
  bool woken_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sluice::io
