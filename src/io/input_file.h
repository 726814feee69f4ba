#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sluice::io {

/// A file open for reading, through one descriptor. Any threads may read it at once.
class InputFile {
 public:
  /// How its bytes come: through the page cache, or around it where the file system allows that.
  enum class Access : uint8_t { kCached, kDirect };

  /// Most bytes that one system call is asked for: Linux moves up to 0x7ffff000, macOS INT_MAX, and
  /// this is aligned and below both.
  static constexpr size_t kCallBytesMax = size_t{1} << 30;

  /// Throws Error that names the path: kNotFound, or kIo with the remedy when too many files are
  /// open.
  explicit InputFile(const std::string& path, Access access = Access::kCached);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// For calls that are made elsewhere.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Its size when it was opened, or at the last look_again().
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  /// Takes in what has been appended since. No other thread may use the file meanwhile.
  void look_again();
  /// The number of the device that it lies on.
  [[nodiscard]] uint64_t device() const { return device_; }
  /// True while reads go around the page cache; offset, size and memory of each are then multiples
  /// of a block.
  [[nodiscard]] bool direct() const { return direct_; }

  /// Fills `into` from byte `offset`. Throws Error(kIo) when the file cannot be read or ends
  /// before. For cached access only.
  void read(uint64_t offset, std::span<std::byte> into) const;

  /// One system call: the bytes that it read, 0 at the end of the file, or minus errno. At most a
  /// gibibyte, and often less than asked for.
  [[nodiscard]] int64_t read_some(uint64_t offset, std::span<std::byte> into) const;
  /// All later reads go through the page cache; for a file system that allows opening but not
  /// reading.
  void stop_direct();

 private:
  const std::string path_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0, device_ = 0;
  std::atomic<bool> direct_{false};
};

}  // namespace sluice::io
