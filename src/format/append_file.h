#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace sluice::format {

/// A file that grows while somebody may read it, and keeps what it has when the program is killed:
/// each append() is with the system when it returns. Throws Error that names the path and the
/// reason.
class AppendFile {
 public:
  /// Keeps the first `keep` bytes of the file and cuts off the rest; 0 starts it anew. Throws
  /// Error(kCorrupt) when it has fewer, kInvalidInput when it is no regular file, kIo.
  explicit AppendFile(std::filesystem::path path, uint64_t keep = 0);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  /// Brings it to the disk. Returns its size, to continue at.
  uint64_t sync();

 private:
  struct Opening {};
  AppendFile(Opening, std::filesystem::path path);
  [[noreturn]] void fail(int error) const;

  const std::filesystem::path path_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

}  // namespace sluice::format
