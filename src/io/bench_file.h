#pragma once
#include "io/unnamed_file.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace sluice::io {

struct BenchFileOptions {
  uint64_t bytes = uint64_t{4} << 30;  ///< Of a new file; at most half of the free room is taken.
  bool drop_cache = false;             ///< Let the page cache forget an existing file first.
  /// Told how many bytes of a new file are written, from time to time; may be empty.
  std::function<void(uint64_t)> on_written{};
};

/// A file by which a drive is measured: one that is there, or a new one of random bytes in a
/// folder, without a name, which is gone with this object or with the program.
class BenchFile {
 public:
  /// Throws Error that names the path: kNotFound, kIo when the folder cannot be written or has no
  /// room.
  BenchFile(const std::filesystem::path& path, const BenchFileOptions& options);

  /// As the user gave it.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// To open it by.
  [[nodiscard]] const std::string& open_path() const { return open_path_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  /// At which a new file was written, a call after the other; 0: it was there.
  [[nodiscard]] double write_bytes_per_second() const { return write_rate_; }
  /// Why reads of it would not show what the drive can do; empty when they would.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// The same, when so many bytes have been read around the page cache.
  [[nodiscard]] std::string trouble_after(uint64_t bytes_read) const;

 private:
  void write_new(const BenchFileOptions& options);
  [[nodiscard]] std::string find_trouble(const BenchFileOptions& options);

  const std::filesystem::path path_;
  std::unique_ptr<UnnamedFile> new_file_;  // None: it was there.
  std::string open_path_;
  uint64_t bytes_ = 0, cached_at_first_ = 0;
  double write_rate_ = 0;
  std::string trouble_;
};

}  // namespace sluice::io
