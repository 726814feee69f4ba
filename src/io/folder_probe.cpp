#include "io/folder_probe.h"

#include "base/error.h"
#include "base/types.h"
#include "io/drive_array.h"
#include "io/page_cache.h"
#include "io/unnamed_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace sluice::io {
namespace {

constexpr uint64_t kProbeBytes = 64u << 20, kCallBytes = 8u << 20;
constexpr double kSecondsMax = 0.5;  // Of each direction.

[[noreturn]] void fail(const std::filesystem::path& folder, const char* what, int error) {
  throw Error(ErrorCode::kIo, "{}: {}: {}", folder.string(), what, std::strerror(error));
}

double now() { return to_seconds(std::chrono::steady_clock::now().time_since_epoch()); }

/// Moves calls of kCallBytes until `bytes`, the time, or what the disk gives has come to an end.
/// Returns the bytes that were moved.
template <class Call>
uint64_t move(const UnnamedFile& file, uint64_t bytes, const Call& call) {
  file.go_around_cache(true);
  uint64_t at = 0;
  for (const double begin = now(); at < bytes && now() - begin < kSecondsMax;) {
    const ssize_t n = call(static_cast<off_t>(at));
    if (n < 0 && errno == EINVAL && at == 0) {
      file.go_around_cache(false);
      if (call(0) <= 0) break;
    } else if (n <= 0) {
      break;
    }
    at += kCallBytes;
  }
  return at;
}

}  // namespace

FolderFacts probe_folder(const std::filesystem::path& folder) {
  struct stat status{};
  struct statvfs disk{};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::kNotFound, "{}: is not a folder; make it, or attach its drive",
                folder.string());
  }
  if (::statvfs(folder.c_str(), &disk) != 0) fail(folder, "cannot be examined", errno);
  return {.device = status.st_dev, .free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize};
}

double measure_read_rate(const std::filesystem::path& folder) {
  const uint64_t wanted =
      std::min(kProbeBytes, probe_folder(folder).free_bytes / 2) / kCallBytes * kCallBytes;
  const UnnamedFile file(folder);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, kCallBytes)), &std::free);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory.get(), 0x5a, kCallBytes);
  const uint64_t written = move(
      file, wanted, [&](off_t at) { return ::pwrite(file.get(), memory.get(), kCallBytes, at); });
  if (written == 0) return 0.0;
  drop_cached(file.get());
  const double begin = now();
  const uint64_t read = move(
      file, written, [&](off_t at) { return ::pread(file.get(), memory.get(), kCallBytes, at); });
  return static_cast<double>(read) / std::max(now() - begin, 1e-6);
}

}  // namespace sluice::io
