#pragma once
#include <cstdint>
#include <filesystem>

namespace sluice::io {

/// The disk under a folder.
struct FolderFacts {
  uint64_t device = 0;      ///< The same for folders of one file system.
  uint64_t free_bytes = 0;  ///< For this user.
};

/// Throws Error that names the folder: kNotFound when it is none, kIo.
[[nodiscard]] FolderFacts probe_folder(const std::filesystem::path& folder);

/// Bytes per second of long reads around the page cache where the file system allows that, measured
/// for a fraction of a second on a file without a name. 0 when there is no room for that. Throws
/// Error(kIo) that names the folder when it cannot be written.
[[nodiscard]] double measure_read_rate(const std::filesystem::path& folder);

}  // namespace sluice::io
