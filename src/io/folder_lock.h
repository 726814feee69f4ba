#pragma once
#include <filesystem>

namespace sluice::io {

/// Keeps other programs that lock the same folder out while it lives, however it ends.
class FolderLock {
 public:
  /// Throws Error(kInvalidInput) that names the folder when someone else has it, kIo.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace sluice::io
