#include "io/file_limit.h"

#include "base/error.h"

#include <algorithm>
#include <filesystem>
#include <sys/resource.h>

namespace sluice::io {
namespace {

// Of a process that has just started; counts where the system cannot list them.
constexpr uint64_t kUsuallyOpen = 16;

uint64_t open_files() {
  uint64_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/dev/fd", error), end; !error && at != end;
       at.increment(error)) {
    ++count;
  }
  return std::max(count, kUsuallyOpen);
}

}  // namespace

void allow_open_files(uint64_t more) {
  const uint64_t needed = open_files() + more;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  const rlimit raised{.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max),
                      .rlim_max = limit.rlim_max};
  if (raised.rlim_cur >= needed && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) return;
  throw Error(ErrorCode::kIo,
              "{} files have to be open at once, but this process may open {}; raise the limit "
              "with 'ulimit -n {}', or LimitNOFILE={} of its service",
              needed, std::max(limit.rlim_cur, std::min<rlim_t>(needed, limit.rlim_max)), needed,
              needed);
}

}  // namespace sluice::io
