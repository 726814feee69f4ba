#pragma once
#include "io/mount_table.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::io {

/// What the system tells of a block device. Empty texts: it does not say.
struct BlockDevice {
  std::string name;   ///< "nvme0n1p1".
  std::string model;  ///< Of the maker; "raid0" of an array.
  /// "nvme", "usb", "sata", "scsi", "virtio", "mmc", "loop", "md", "dm", "network", "memory".
  std::string bus;
  std::string link;  ///< What it hangs on: "16.0 GT/s PCIe x4", "USB at 10000 Mb/s".
  std::optional<bool> rotational{};   ///< Has platters.
  uint64_t bytes = 0;                 ///< Its size.
  uint32_t sector_bytes = 0;          ///< The least that it reads.
  std::filesystem::path loop_file{};  ///< The file that a loop device shows.
  bool loop_direct = true;            ///< A loop device reads that file around the page cache.
  std::vector<std::string> disks{};   ///< Whole disks whose bytes it shows, at least itself.
};

/// `sys` is where the system shows its devices, /sys outside of tests. Nothing when it does not
/// know that number or name.
[[nodiscard]] std::optional<BlockDevice> describe_device(const std::filesystem::path& sys,
                                                         DeviceNumber number);
[[nodiscard]] std::optional<BlockDevice> describe_device(const std::filesystem::path& sys,
                                                         const std::string& name);

}  // namespace sluice::io
