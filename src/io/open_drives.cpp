#include "io/open_drives.h"

#include "base/error.h"
#include "io/pread_drives.h"
#include "io/uring_drives.h"

#include <utility>

namespace sluice::io {

OpenedDrives open_drives(const std::vector<std::string>& paths, DriveOptions options) {
  OpenedDrives opened;
  if (options.method != ReadMethod::kPread) {
    UringResult ring = make_uring_drives(paths, {.direct = options.direct});
    opened.drives = std::move(ring.drives);
    opened.no_uring = std::move(ring.refusal);
  }
  if (opened.drives) return opened;
  if (options.method == ReadMethod::kUring) {
    throw Error(ErrorCode::kUnsupported, "no io_uring: {}; use --io pread, or auto",
                opened.no_uring);
  }
  opened.drives = std::make_unique<PreadDrives>(paths, PreadOptions{.direct = options.direct});
  return opened;
}

std::string describe_method(const OpenedDrives& opened) {
  return opened.no_uring.empty()
             ? opened.drives->method()
             : fmt::format("{} (no io_uring: {})", opened.drives->method(), opened.no_uring);
}

}  // namespace sluice::io
