#include "io/block_device.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSectorBytes = 512;  // The unit of /sys, whatever the device has.
constexpr int kLayersMax = 8;           // Of devices upon devices.

/// The only line of a file of /sys, without blanks around it; empty when there is no such file.
std::string line_of(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return line.substr(first, line.find_last_not_of(' ') - first + 1);
}

template <class T>
std::optional<T> number_of(const fs::path& path) {
  const std::string line = line_of(path);
  T value{};
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    paths.push_back(at->path());
  }
  std::ranges::sort(paths);
  return paths;
}

/// Whether a part of the path is `prefix` and a number.
bool has_numbered_part(const fs::path& path, std::string_view prefix) {
  return std::ranges::any_of(path, [&](const fs::path& part) {
    const std::string text = part.string();
    return text.size() > prefix.size() && text.starts_with(prefix) &&
           text.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  });
}

/// By the folder of the whole disk among the devices of the system.
std::string bus_of(const fs::path& disk) {
  const std::string name = disk.filename().string();
  if (name.starts_with("nvme")) return "nvme";
  if (name.starts_with("loop")) return "loop";
  if (name.starts_with("md")) return "md";
  if (name.starts_with("dm-")) return "dm";
  if (name.starts_with("nbd") || name.starts_with("rbd")) return "network";
  if (name.starts_with("zram") || name.starts_with("ram")) return "memory";
  if (name.starts_with("mmcblk")) return "mmc";
  if (has_numbered_part(disk, "usb")) return "usb";
  if (has_numbered_part(disk, "ata")) return "sata";
  if (has_numbered_part(disk, "virtio")) return "virtio";
  if (has_numbered_part(disk, "host")) return "scsi";
  return {};
}

/// What the nearest USB port or PCIe slot above `folder` runs at, and whether it can be unplugged.
std::string link_of(const fs::path& sys, fs::path folder) {
  for (; folder.has_relative_path() && folder != sys; folder = folder.parent_path()) {
    const std::string usb = line_of(folder / "speed");
    if (!usb.empty() && fs::exists(folder / "bDeviceClass")) {
      return fmt::format("USB at {} Mb/s", usb);
    }
    const std::string speed = line_of(folder / "current_link_speed");
    if (speed.empty() || speed.starts_with("Unknown")) continue;
    const std::string width = line_of(folder / "current_link_width");
    const bool external = line_of(folder / "removable") == "removable";
    return fmt::format("{} x{}{}", speed, width, external ? ", external" : "");
  }
  return {};
}

/// The folder from which link_of() climbs. A disk of several NVMe paths hangs on no slot itself.
fs::path attached_at(const fs::path& disk) {
  std::error_code error;
  for (const fs::path& entry : entries(disk.parent_path())) {
    if (disk.parent_path().filename().string().starts_with("nvme-subsys") &&
        fs::exists(entry / "transport")) {
      const fs::path controller = fs::canonical(entry, error);
      if (!error) return controller;
    }
  }
  return disk;
}

std::string model_of(const fs::path& disk) {
  for (const char* const file : {"md/level", "dm/name", "device/model", "device/name"}) {
    std::string model = line_of(disk / file);
    if (model.empty()) continue;
    const std::string vendor = line_of(disk / "device" / "vendor");
    // Of SATA disks the vendor is "ATA", of virtio ones a number.
    const bool tells = !vendor.empty() && vendor != "ATA" && !vendor.starts_with("0x");
    return tells ? vendor + " " + model : model;
  }
  return {};
}

void add_disks(const fs::path& device, int layers, std::vector<std::string>& disks) {
  const fs::path disk = fs::exists(device / "partition") ? device.parent_path() : device;
  const std::vector<fs::path> members = entries(disk / "slaves");
  if (members.empty() || layers == 0) {
    const std::string name = disk.filename().string();
    if (std::ranges::find(disks, name) == disks.end()) disks.push_back(name);
    return;
  }
  std::error_code error;
  for (const fs::path& member : members) {
    const fs::path folder = fs::canonical(member, error);
    if (!error) add_disks(folder, layers - 1, disks);
  }
}

std::optional<BlockDevice> describe(const fs::path& sys, const fs::path& link) {
  std::error_code error;
  const fs::path device = fs::canonical(link, error);
  if (error) return std::nullopt;
  const fs::path disk = fs::exists(device / "partition") ? device.parent_path() : device;
  BlockDevice out{
      .name = device.filename().string(),
      .model = model_of(disk),
      .bus = bus_of(disk),
      .link = link_of(fs::weakly_canonical(sys), attached_at(disk)),
      .bytes = number_of<uint64_t>(device / "size").value_or(0) * kSectorBytes,
      .sector_bytes = number_of<uint32_t>(disk / "queue" / "logical_block_size").value_or(0)};
  if (const auto rotational = number_of<int>(disk / "queue" / "rotational")) {
    out.rotational = *rotational != 0;
  }
  out.loop_file = line_of(disk / "loop" / "backing_file");
  out.loop_direct = out.loop_file.empty() || line_of(disk / "loop" / "dio") == "1";
  add_disks(device, kLayersMax, out.disks);
  return out;
}

}  // namespace

std::optional<BlockDevice> describe_device(const fs::path& sys, DeviceNumber number) {
  return describe(sys, sys / "dev" / "block" / to_text(number));
}

std::optional<BlockDevice> describe_device(const fs::path& sys, const std::string& name) {
  return describe(sys, sys / "class" / "block" / name);
}

}  // namespace sluice::io
