#pragma once
#include "io/drive_array.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace sluice::io {

/// For tests: memory for whole blocks.
class BlockBuffer {
 public:
  explicit BlockBuffer(size_t bytes)
      : bytes_(round_up(bytes, kBlockBytes)),
        data_(static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, bytes_)), &std::free) {}
  [[nodiscard]] std::span<std::byte> all() const { return {data_.get(), bytes_}; }
  [[nodiscard]] std::span<std::byte> part(size_t from, size_t bytes) const {
    return all().subspan(from, bytes);
  }

 private:
  size_t bytes_;
  std::unique_ptr<std::byte, decltype(&std::free)> data_;
};

/// For tests: a folder of its own, gone at the end. By default in the build folder: a temporary
/// folder may be a file system that checks no alignment.
class TestFolder {
 public:
  explicit TestFolder(const std::filesystem::path& parent = SLUICE_BINARY_DIR) {
    std::random_device random;
    path_ = parent / fmt::format("test-{:08x}{:08x}", random(), random());
    std::filesystem::create_directories(path_);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes a file of random bytes and returns its path.
  [[nodiscard]] std::string write(const std::string& name, size_t bytes, uint32_t seed) const {
    std::mt19937 random(seed);
    std::string data(bytes, '\0');
    for (char& c : data) c = static_cast<char>(random());
    std::ofstream(path_ / name, std::ios::binary) << data;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

/// For tests: all bytes of a file.
[[nodiscard]] inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// For tests: one read from beginning to end.
[[nodiscard]] inline Completion read_one(DriveArray& drives, FileId file, uint64_t offset,
                                         std::span<std::byte> into) {
  const Read read{{7}, file, offset, into};
  drives.submit({&read, 1});
  Completion done[2];
  for (;;) {
    if (drives.wait(done, std::chrono::seconds(10)) == 1) return done[0];
  }
}

}  // namespace sluice::io
