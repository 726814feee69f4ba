#include "io/drive_files.h"

#include "base/check.h"

#include <cstdint>
#include <limits>
#include <map>

namespace sluice::io {

DriveFiles::DriveFiles(const std::vector<std::string>& paths, bool direct) {
  SLUICE_CHECK(paths.size() <= std::numeric_limits<uint16_t>::max());
  const auto access = direct ? InputFile::Access::kDirect : InputFile::Access::kCached;
  std::map<uint64_t, DriveId> drives;
  for (const std::string& path : paths) {
    const InputFile& file = files_.emplace_back(path, access);
    const DriveId next{static_cast<uint16_t>(drives.size())};
    drive_of_.push_back(drives.try_emplace(file.device(), next).first->second);
  }
  drive_count_ = drives.size();
}

}  // namespace sluice::io
