#pragma once
#include "io/block_device.h"
#include "io/direct_reads.h"
#include "io/mount_table.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::io {

/// A file system in use and what it lies on.
struct ListedDrive {
  Mount mount;
  std::optional<BlockDevice> device{};  ///< Nothing: of a network, a program, memory.
  std::string bus{};                    ///< The device's, else "network", "fuse", "memory", ...
  /// Whole disks that have the bytes, also through arrays and loop devices; empty when none is
  /// known.
  std::vector<std::string> disks{};
  std::vector<std::filesystem::path> paths{};  ///< Of those asked for, the ones that lie on it.
  std::string trouble{};  ///< Why what follows is not known: it failed, or hangs; else empty.
  uint64_t total_bytes = 0, free_bytes = 0;  ///< Free: for this user.
  std::optional<DirectReads> direct{};       ///< Nothing: unknown.
};

/// What is mounted, for each of `paths` once for what it lies on; all places for files when there
/// are no paths. `root` is "/" outside of tests. Throws Error: kNotFound that names a path,
/// kUnsupported where the system does not tell what is mounted.
[[nodiscard]] std::vector<ListedDrive> list_drives(const std::filesystem::path& root,
                                                   const std::vector<std::filesystem::path>& paths);

/// Pairs that have a disk in common and so cannot add up, by index.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> sharing(
    const std::vector<ListedDrive>& drives);

/// Why reading files there measures no drive, however it is read: they are in memory, or come
/// through a page cache below. Empty when nothing of that kind is known.
[[nodiscard]] std::string why_no_drive(const ListedDrive& drive,
                                       const std::filesystem::path& root = "/");

}  // namespace sluice::io
