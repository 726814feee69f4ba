#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::format {

/// Throws Error(kInvalidInput) when something other than a regular file stands at `path`: a folder,
/// or a device or link, which a rename would replace.
void check_replaceable(const std::filesystem::path& path);

/// A file that appears whole or not at all: written under a temporary name, brought to the disk and
/// renamed by commit(), removed when it is dropped before. Throws Error(kIo) that names the path
/// and the reason.
class OutputFile {
 public:
  /// What the temporary name ends in.
  static constexpr std::string_view kTemporarySuffix = ".tmp";

  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Passes over bytes that then read as zeros and need no room where the file system knows holes.
  void skip(uint64_t bytes);
  /// Overwrites bytes that were written or skipped before.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  void write_at(uint64_t offset, std::string_view text) {
    write_at(offset, std::as_bytes(std::span(text)));
  }
  /// Brings what was written to the disk, where temporary() shows it.
  void sync();
  [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
  /// Gives the file its name, and brings that to the disk as well.
  void commit();

 private:
  [[noreturn]] void fail(int error) const;
  void flush();
  void write_through(uint64_t offset, std::span<const std::byte> bytes) const;
  void sync_folder() const;

  const std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  uint64_t flushed_ = 0;           // Bytes of the file in front of the buffer.
  std::vector<std::byte> buffer_;  // What write() has collected.
  bool committed_ = false;
};

}  // namespace sluice::format
