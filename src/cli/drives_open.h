#pragma once
#include "cli/drives_report.h"
#include "io/bench_file.h"
#include "io/open_drives.h"

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// How the commands that measure drives find something to read there.
struct DriveSources {
  std::vector<std::string> paths{};
  uint64_t file_bytes = uint64_t{4} << 30;
  bool drop_cache = false;
  std::string io = "auto";
  uint64_t read_bytes_max = 0;  ///< Each file has room for such a read.
  bool quiet = false;           ///< Show no progress.
};

/// A drive, and which of the opened files lie on it.
struct OpenDrive {
  MeasuredDrive result;
  std::vector<io::ReadLoad::File> files;
  std::vector<size_t> sources;  ///< The same files, by index.
  [[nodiscard]] io::ReadLoad load(const io::ReadSetting& setting,
                                  std::span<std::byte> memory) const;
};

/// Files on drives, opened as the engine opens them.
class DriveSet {
 public:
  /// Writes files where folders are named, and opens all whose reads would show what their drives
  /// can do; of the others says why not. Throws Error that names a path or an option.
  explicit DriveSet(const DriveSources& sources);

  [[nodiscard]] bool empty() const { return opened_.drives == nullptr; }
  [[nodiscard]] io::DriveArray& array() const { return *opened_.drives; }
  [[nodiscard]] std::string method() const { return io::describe_method(opened_); }
  [[nodiscard]] std::vector<OpenDrive>& drives() { return drives_; }
  /// Reads of one of the files, by its place in the paths when none of them was refused.
  [[nodiscard]] io::ReadLoad load(size_t file, const io::ReadSetting& setting,
                                  std::span<std::byte> memory) const;
  /// Those that cannot be measured, with the reasons.
  [[nodiscard]] const std::vector<MeasuredDrive>& refused() const { return refused_; }
  /// Refuses drives of which reads have turned out to be cached, after so many bytes of each.
  void check_after(uint64_t bytes_read);
  /// Throws Error(kUnsupported) with path and reason when one is refused.
  void demand_all() const;

 private:
  void write_and_check(const DriveSources& sources);
  void open(const std::string& io);
  void refuse(const io::BenchFile& file, std::string reason);

  std::deque<io::BenchFile> files_;
  std::vector<size_t> sound_;  // Of files_, by FileId.
  io::OpenedDrives opened_;
  std::vector<OpenDrive> drives_;
  std::vector<MeasuredDrive> refused_;
};

}  // namespace sluice::cli
