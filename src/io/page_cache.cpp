#include "io/page_cache.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace sluice::io {
namespace {

#if defined(__linux__)

// Linux 6.5 has this call; headers may be older.
#ifndef SYS_cachestat
constexpr long kCachestat = 451;
#else
constexpr long kCachestat = SYS_cachestat;
#endif

struct CacheRange {
  uint64_t offset = 0, bytes = 0;
};
struct CacheCounts {
  uint64_t cached = 0, dirty = 0, writeback = 0, evicted = 0, recently_evicted = 0;
};

std::optional<uint64_t> pages_by_call(int descriptor, uint64_t bytes) {
  CacheRange range{0, bytes};
  CacheCounts counts;
  if (::syscall(kCachestat, descriptor, &range, &counts, 0u) != 0) return std::nullopt;
  return counts.cached;
}

/// mincore() calls every page of a file cached that the user could not have written.
bool may_look(int descriptor) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return false;
  return ::geteuid() == 0 || ::geteuid() == status.st_uid;
}

std::optional<uint64_t> pages_by_map(int descriptor, uint64_t bytes, uint64_t page_bytes) {
  constexpr uint64_t kMapBytes = uint64_t{1} << 30;
  if (!may_look(descriptor)) return std::nullopt;
  std::vector<unsigned char> held(std::min(bytes, kMapBytes) / page_bytes + 1);
  uint64_t pages = 0;
  for (uint64_t at = 0; at < bytes; at += kMapBytes) {
    const size_t part = std::min(kMapBytes, bytes - at);
    void* const map =
        ::mmap(nullptr, part, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(at));
    if (map == MAP_FAILED) return std::nullopt;
    const bool told = ::mincore(map, part, held.data()) == 0;
    ::munmap(map, part);
    if (!told) return std::nullopt;
    const auto end = held.begin() + static_cast<ptrdiff_t>((part + page_bytes - 1) / page_bytes);
    pages += static_cast<uint64_t>(
        std::count_if(held.begin(), end, [](unsigned char flags) { return (flags & 1) != 0; }));
  }
  return pages;
}

#endif

}  // namespace

std::optional<uint64_t> cached_bytes(int descriptor, uint64_t bytes) {
#if defined(__linux__)
  if (bytes == 0) return 0;
  const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::optional<uint64_t> pages = pages_by_call(descriptor, bytes);
  if (!pages) pages = pages_by_map(descriptor, bytes, page_bytes);
  if (!pages) return std::nullopt;
  return std::min(bytes, *pages * page_bytes);
#else
  (void)descriptor, (void)bytes;
  return std::nullopt;
#endif
}

void drop_cached(int descriptor) {
  (void)::fsync(descriptor);  // Pages that are yet to be written are not dropped.
#ifdef POSIX_FADV_DONTNEED
  (void)::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
#endif
}

}  // namespace sluice::io
