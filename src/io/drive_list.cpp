#include "io/drive_list.h"

#include "base/error.h"
#include "base/start_thread.h"
#include "base/types.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <iterator>
#include <string_view>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;

constexpr Nanos kAnswerMax = std::chrono::seconds(3);  // Of a file system that may hang.
constexpr int kLoopsMax = 4;                           // Of loop devices upon loop devices.

/// Where no block device is behind it.
struct BusOfType {
  std::string_view prefix, bus;
};
constexpr std::array<BusOfType, 10> kBuses = {{{"fuse", "fuse"},
                                               {"nfs", "network"},
                                               {"cifs", "network"},
                                               {"smb", "network"},
                                               {"ceph", "network"},
                                               {"9p", "host"},
                                               {"virtiofs", "host"},
                                               {"tmpfs", "memory"},
                                               {"ramfs", "memory"},
                                               {"overlay", "overlay"}}};

std::vector<Mount> read_mounts(const fs::path& root) {
  std::ifstream in(root / "proc/self/mountinfo", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (text.empty()) {
    throw Error(ErrorCode::kUnsupported,
                "this system does not tell what is mounted (no /proc/self/mountinfo)");
  }
  return parse_mounts(text);
}

/// btrfs and others number their file systems themselves and name the device only as their source.
std::optional<BlockDevice> device_of(const fs::path& root, const Mount& mount) {
  if (mount.device.major != 0) return describe_device(root / "sys", mount.device);
  if (!mount.source.starts_with("/dev/")) return std::nullopt;
  std::error_code error;
  const fs::path node = fs::weakly_canonical(root / fs::path(mount.source).relative_path(), error);
  return error ? std::nullopt : describe_device(root / "sys", node.filename().string());
}

std::string bus_of(const Mount& mount, const std::optional<BlockDevice>& device) {
  if (device) return device->bus;
  const auto known = std::ranges::find_if(
      kBuses, [&](const BusOfType& type) { return mount.file_system.starts_with(type.prefix); });
  return known == kBuses.end() ? std::string() : std::string(known->bus);
}

/// Goes through loop devices to what their files lie on.
std::vector<std::string> disks_of(const fs::path& root, const std::vector<Mount>& mounts,
                                  const BlockDevice& device, int loops = kLoopsMax) {
  const Mount* const below =
      device.loop_file.empty() || loops == 0 ? nullptr : mount_of(mounts, device.loop_file);
  const std::optional<BlockDevice> under = below ? device_of(root, *below) : std::nullopt;
  return under ? disks_of(root, mounts, *under, loops - 1) : device.disks;
}

/// A file there, for questions about it: one that is there, or one without a name. Minus 1: none.
int open_some_file(const fs::path& place) {
  std::error_code error;
  if (!fs::is_directory(place, error)) return ::open(place.c_str(), O_RDONLY | O_CLOEXEC);
#ifdef O_TMPFILE
  if (const int file = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); file >= 0) {
    return file;
  }
#endif
  constexpr int kEntriesMax = 256;
  int entries = 0;
  for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file(error)) return ::open(at->path().c_str(), O_RDONLY | O_CLOEXEC);
    if (++entries == kEntriesMax) break;
  }
  return -1;
}

std::optional<DirectReads> direct_reads_at(const fs::path& place) {
  const int file = open_some_file(place);
  if (file < 0) return std::nullopt;
  std::optional<DirectReads> reads = direct_reads(file);
#ifdef O_DIRECT
  if (!reads) {
    const int flags = ::fcntl(file, F_GETFL);
    reads = DirectReads{.allowed = ::fcntl(file, F_SETFL, flags | O_DIRECT) == 0};
  }
#endif
  ::close(file);
  return reads;
}

/// What only the file system itself can tell.
struct Answers {
  std::string trouble;
  uint64_t total_bytes = 0, free_bytes = 0;
  std::optional<DirectReads> direct;
};

/// When it has not answered in time, the question goes on in a thread of its own, for as long as
/// the file system hangs.
Answers ask(const fs::path& place) {
  std::packaged_task<Answers()> task([place] {
    Answers answers;
    struct statvfs space{};
    if (::statvfs(place.c_str(), &space) != 0) {
      answers.trouble = std::strerror(errno);
      return answers;
    }
    answers.total_bytes = uint64_t{space.f_blocks} * space.f_frsize;
    answers.free_bytes = uint64_t{space.f_bavail} * space.f_frsize;
    answers.direct = direct_reads_at(place);
    return answers;
  });
  std::future<Answers> result = task.get_future();
  start_thread(std::move(task)).detach();
  if (result.wait_for(kAnswerMax) != std::future_status::ready) {
    return {.trouble = "it does not answer", .direct = {}};
  }
  return result.get();
}

ListedDrive describe(const fs::path& root, const std::vector<Mount>& mounts, const Mount& mount,
                     const fs::path& place) {
  ListedDrive drive{.mount = mount, .device = device_of(root, mount)};
  drive.bus = bus_of(mount, drive.device);
  if (drive.device) drive.disks = disks_of(root, mounts, *drive.device);
  const Answers answers = ask(place);
  drive.trouble = answers.trouble;
  drive.total_bytes = answers.total_bytes;
  drive.free_bytes = answers.free_bytes;
  drive.direct = answers.direct;
  return drive;
}

fs::path existing(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) {
    throw Error(ErrorCode::kNotFound, "{}: {}; name a file or folder on a drive", path.string(),
                error.message());
  }
  return real;
}

}  // namespace

std::vector<ListedDrive> list_drives(const fs::path& root, const std::vector<fs::path>& paths) {
  const std::vector<Mount> mounts = read_mounts(root);
  std::vector<ListedDrive> drives;
  for (const fs::path& path : paths) {
    const fs::path real = existing(path);
    const Mount* const mount = mount_of(mounts, real);
    if (mount == nullptr) continue;
    auto known = std::ranges::find(drives, *mount, &ListedDrive::mount);
    if (known == drives.end()) {
      known = drives.insert(drives.end(), describe(root, mounts, *mount, real));
    }
    known->paths.push_back(path);
  }
  if (paths.empty()) {
    for (const Mount& mount : mounts_for_files(mounts)) {
      drives.push_back(describe(root, mounts, mount, mount.point));
    }
  }
  return drives;
}

std::vector<std::pair<size_t, size_t>> sharing(const std::vector<ListedDrive>& drives) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t a = 0; a < drives.size(); ++a) {
    for (size_t b = a + 1; b < drives.size(); ++b) {
      if (std::ranges::find_first_of(drives[a].disks, drives[b].disks) != drives[a].disks.end()) {
        pairs.emplace_back(a, b);
      }
    }
  }
  return pairs;
}

std::string why_no_drive(const ListedDrive& drive, const fs::path& root) {
  if (drive.bus == "memory") {
    return fmt::format("{} on {} is memory, no drive; name a place on a drive",
                       drive.mount.file_system, drive.mount.point.string());
  }
  if (!drive.device || drive.device->loop_file.empty()) return {};
  const std::string name = drive.device->name, file = drive.device->loop_file.string();
  if (!drive.device->loop_direct) {
    return fmt::format(
        "{} reads its file {} through the page cache; set it up with losetup --direct-io=on", name,
        file);
  }
  const std::vector<Mount> mounts = read_mounts(root);
  const Mount* const below = mount_of(mounts, drive.device->loop_file);
  if (below == nullptr || bus_of(*below, device_of(root, *below)) != "memory") return {};
  return fmt::format("{} shows {}, which lies in memory ({}); name a place on a drive", name, file,
                     below->file_system);
}

}  // namespace sluice::io
