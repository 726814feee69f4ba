#include "io/bench_file.h"

#include "base/error.h"
#include "io/drive_array.h"
#include "io/drive_list.h"
#include "io/folder_probe.h"
#include "io/input_file.h"
#include "io/page_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <unistd.h>
#include <vector>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCallBytes = 8u << 20;
// Of a file; fewer pages than this in the page cache change no figure.
constexpr uint64_t kCachedShareMax = 100;

/// Bytes that no drive can compress, and no block of which it has seen before.
class RandomBytes {
 public:
  RandomBytes()
      : memory_(static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, kCallBytes)), &std::free),
        stamp_(std::random_device{}()) {
    if (memory_ == nullptr) throw std::bad_alloc();
    std::mt19937_64 random(stamp_);
    for (uint64_t at = 0; at < kCallBytes; at += sizeof(uint64_t)) put(at, random());
  }
  std::span<const std::byte> next() {
    for (uint64_t at = 0; at < kCallBytes; at += kBlockBytes) put(at, ++stamp_);
    return {memory_.get(), kCallBytes};
  }

 private:
  void put(uint64_t at, uint64_t value) { std::memcpy(memory_.get() + at, &value, sizeof value); }

  std::unique_ptr<std::byte, decltype(&std::free)> memory_;
  uint64_t stamp_;
};

/// The first byte that was never written; nothing when all were.
std::optional<uint64_t> first_hole(int descriptor, uint64_t bytes) {
#ifdef SEEK_HOLE
  const off_t hole = ::lseek(descriptor, 0, SEEK_HOLE);
  if (hole >= 0 && static_cast<uint64_t>(hole) < bytes) return static_cast<uint64_t>(hole);
#else
  (void)descriptor, (void)bytes;
#endif
  return std::nullopt;
}

}  // namespace

BenchFile::BenchFile(const fs::path& path, const BenchFileOptions& options) : path_(path) {
  for (const ListedDrive& drive : list_drives("/", {path})) {
    trouble_ = why_no_drive(drive);
    if (!trouble_.empty()) return;
  }
  if (fs::is_directory(path)) {
    write_new(options);
  } else {
    open_path_ = path.string();
    bytes_ = InputFile(open_path_).bytes();
  }
  trouble_ = find_trouble(options);
}

void BenchFile::write_new(const BenchFileOptions& options) {
  const uint64_t room = probe_folder(path_).free_bytes / 2;
  bytes_ = std::min(round_up(options.bytes, kCallBytes), room / kCallBytes * kCallBytes);
  if (bytes_ == 0) {
    throw Error(ErrorCode::kIo,
                "{}: has no room for a file to read; free some there, or name a "
                "file of that drive",
                path_.string());
  }
  new_file_ = std::make_unique<UnnamedFile>(path_);
  open_path_ = new_file_->path();
  new_file_->go_around_cache(true);
  RandomBytes random;
  std::chrono::duration<double> spent{0};
  for (uint64_t at = 0; at < bytes_;) {
    const std::span<const std::byte> part = random.next();
    const auto begin = std::chrono::steady_clock::now();
    const ssize_t n = ::pwrite(new_file_->get(), part.data(), part.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINVAL && at == 0) {
      new_file_->go_around_cache(false);  // The file system wants another alignment, or refuses.
      continue;
    }
    if (n != static_cast<ssize_t>(part.size())) {
      throw Error(ErrorCode::kIo, "{}: a file cannot be written there: {}; choose another folder",
                  path_.string(), n < 0 ? std::strerror(errno) : "no room is left");
    }
    if (at += kCallBytes; at == bytes_) (void)::fsync(new_file_->get());
    spent += std::chrono::steady_clock::now() - begin;
    if (options.on_written) options.on_written(at);
  }
  write_rate_ = static_cast<double>(bytes_) / std::max(spent.count(), 1e-9);
}

std::string BenchFile::find_trouble(const BenchFileOptions& options) {
  const InputFile file(open_path_, InputFile::Access::kDirect);
  if (!file.direct()) {
    return "its file system does not allow reads around the page cache, so they would show how "
           "fast memory is; name a place on another file system";
  }
  if (const std::optional<uint64_t> hole = first_hole(file.descriptor(), bytes_)) {
    return fmt::format(
        "byte {} of it was never written, and such bytes cost no reading; name a "
        "file without holes",
        *hole);
  }
  if (new_file_ || options.drop_cache) drop_cached(file.descriptor());
  cached_at_first_ = cached_bytes(file.descriptor(), bytes_).value_or(0);
  if (cached_at_first_ <= bytes_ / kCachedShareMax) return {};
  return fmt::format("{} % of it sits in the page cache, so reads may show how fast memory is; {}",
                     cached_at_first_ * 100 / bytes_,
                     new_file_ || options.drop_cache
                         ? "the system does not let go of it: name another file"
                         : "give --drop-cache to have it forgotten first");
}

std::string BenchFile::trouble_after(uint64_t bytes_read) const {
  const InputFile file(open_path_);
  const uint64_t cached = cached_bytes(file.descriptor(), bytes_).value_or(0);
  const uint64_t seen = std::min(bytes_read, bytes_);
  if (cached <= cached_at_first_ + seen / kCachedShareMax) return {};
  return fmt::format(
      "{} bytes of it came into the page cache while it was read around it: its file system does "
      "so in name only, or another program reads the file",
      cached - cached_at_first_);
}

}  // namespace sluice::io
