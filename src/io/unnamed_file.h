#pragma once
#include <filesystem>
#include <string>

namespace sluice::io {

/// A file that is gone as soon as nobody has it open, even when the program is killed.
class UnnamedFile {
 public:
  /// Throws Error(kIo) that names the folder when it cannot be written.
  explicit UnnamedFile(const std::filesystem::path& folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  [[nodiscard]] int get() const { return descriptor_; }
  /// Under which this process can open it again while it lives.
  [[nodiscard]] std::string path() const;
  /// Later calls go around the page cache where the file system allows it, or through it.
  void go_around_cache(bool on) const;

 private:
  int descriptor_ = -1;
};

}  // namespace sluice::io
