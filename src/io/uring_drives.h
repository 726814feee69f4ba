#pragma once
#include "io/drive_array.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::io {

struct UringOptions {
  uint32_t reads_in_flight = 512;
  bool direct = true;  ///< Go around the page cache where the file system does.
};

/// Drives, or why there are none.
struct UringResult {
  std::unique_ptr<DriveArray> drives;
  std::string refusal;
};

/// Drives read through one io_uring, without a thread: reads go to the kernel in submit() and
/// wait(), and wait() collects what it has done. The kernel cannot be made to let go of a read
/// under way, so the destructor waits for those; what has not begun is dropped. Direct reads are
/// given up as PreadDrives does. The memory of use_memory() is touched at once, by all processors,
/// and registered with the ring where the limit on locked memory (RLIMIT_MEMLOCK) allows; method()
/// says whether.
///
/// Refused where this build has no liburing, the system forbids or lacks io_uring, or Linux is
/// older than 5.11. Throws Error that names a file which cannot be opened, as PreadDrives does.
[[nodiscard]] UringResult make_uring_drives(const std::vector<std::string>& paths,
                                            UringOptions options);

}  // namespace sluice::io
