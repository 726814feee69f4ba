#include "stream/slot_arena.h"

#include "base/error.h"
#include "base/types.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/mman.h>

namespace sluice::stream {
namespace {

constexpr uint64_t kHugePageBytes = 2u << 20;

}  // namespace

SlotArena::SlotArena(uint64_t bytes, SlotMemory memory) : bytes_(bytes) {
  if (bytes == 0) return;
  // mmap aligns to small pages only, so one huge page more leaves room to move the start.
  if (bytes > std::numeric_limits<size_t>::max() - 2 * kHugePageBytes) {
    throw Error(ErrorCode::kOutOfMemory, "{} bytes of weight slots exceed the address space",
                bytes);
  }
  mapped_bytes_ = static_cast<size_t>(round_up(bytes, kHugePageBytes) + kHugePageBytes);
  const bool nothing = memory == SlotMemory::kNothing;
  mapping_ = ::mmap(nullptr, mapped_bytes_, nothing ? PROT_NONE : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | (nothing ? MAP_NORESERVE : 0), -1, 0);
  if (mapping_ == MAP_FAILED) {
    throw Error(ErrorCode::kOutOfMemory,
                "cannot reserve {} bytes for weights: {}; lower the memory budget or free memory",
                mapped_bytes_, std::strerror(errno));
  }
  const auto address = reinterpret_cast<uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + (round_up(address, kHugePageBytes) - address);
  if (nothing) return;
#ifdef MADV_HUGEPAGE
  // A refusal costs speed only.
  (void)::madvise(data_, static_cast<size_t>(round_up(bytes, kHugePageBytes)), MADV_HUGEPAGE);
#endif
}

SlotArena::~SlotArena() {
  if (mapped_bytes_ > 0) ::munmap(mapping_, mapped_bytes_);
}

}  // namespace sluice::stream
