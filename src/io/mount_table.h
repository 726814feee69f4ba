#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

/// The number of a device, as the system writes it: "259:1". The first is 0 where no block device
/// is behind a file system, or where the file system hides it.
struct DeviceNumber {
  uint32_t major = 0, minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};
[[nodiscard]] std::string to_text(DeviceNumber number);

/// A file system in use.
struct Mount {
  DeviceNumber device;
  std::filesystem::path point;
  std::filesystem::path root;  ///< The folder of the file system that is seen at `point`.
  std::string file_system;     ///< "ext4", "nfs4", "fuse.sshfs".
  std::string source;          ///< "/dev/nvme0n1p1", "server:/export".
  bool read_only = false;
  friend bool operator==(const Mount&, const Mount&) = default;
};

/// What /proc/self/mountinfo says, in its order; lines of another form are left out.
[[nodiscard]] std::vector<Mount> parse_mounts(std::string_view mountinfo);

/// The mount that a path without links lies on; nullptr when none does.
[[nodiscard]] const Mount* mount_of(const std::vector<Mount>& mounts,
                                    const std::filesystem::path& path);

/// Those on which a person may keep files, once each: not the system's own, not the images of
/// installed packages, and of a file system that is seen at several places the topmost one.
[[nodiscard]] std::vector<Mount> mounts_for_files(const std::vector<Mount>& mounts);

}  // namespace sluice::io
