#include "io/direct_reads.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace sluice::io {

std::optional<DirectReads> direct_reads([[maybe_unused]] int descriptor) {
#ifdef STATX_DIOALIGN
  struct statx status{};
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) == 0 &&
      (status.stx_mask & STATX_DIOALIGN) != 0) {
    return DirectReads{.allowed = status.stx_dio_offset_align != 0,
                       .offset_bytes = status.stx_dio_offset_align,
                       .memory_bytes = status.stx_dio_mem_align};
  }
#endif
  return std::nullopt;
}

}  // namespace sluice::io
