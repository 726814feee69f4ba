#pragma once
#include "base/types.h"
#include "io/input_file.h"

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace sluice::io {

/// The files that a DriveArray reads, open, and the drives that they lie on: files with one device
/// number lie on one drive.
class DriveFiles {
 public:
  /// Throws Error as InputFile does.
  DriveFiles(const std::vector<std::string>& paths, bool direct);

  [[nodiscard]] size_t size() const { return files_.size(); }
  [[nodiscard]] InputFile& operator[](FileId file) { return files_[file.value]; }
  [[nodiscard]] const InputFile& operator[](FileId file) const { return files_[file.value]; }
  [[nodiscard]] DriveId drive(FileId file) const { return drive_of_[file.value]; }
  [[nodiscard]] size_t drive_count() const { return drive_count_; }

 private:
  std::deque<InputFile> files_;  // Its elements do not move.
  std::vector<DriveId> drive_of_;
  size_t drive_count_ = 0;
};

}  // namespace sluice::io
