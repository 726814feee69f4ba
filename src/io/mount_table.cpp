#include "io/mount_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace sluice::io {
namespace {

// File systems that have no files of a person's: of the kernel, of devices, and the read-only
// images that package managers mount by the dozen.
constexpr std::array<std::string_view, 27> kSystemTypes = {
    "autofs",     "binfmt_misc", "bpf",       "cgroup",   "cgroup2", "configfs", "cramfs",
    "debugfs",    "devpts",      "devtmpfs",  "efivarfs", "erofs",   "fusectl",  "fuse.portal",
    "hugetlbfs",  "iso9660",     "mqueue",    "nsfs",     "proc",    "pstore",   "ramfs",
    "rpc_pipefs", "securityfs",  "selinuxfs", "squashfs", "sysfs",   "tracefs"};

/// Words between single blanks.
std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

/// The kernel writes blanks and the like as a backslash and three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::optional<DeviceNumber> parse_number(std::string_view text) {
  DeviceNumber number;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, number.major);
  if (error != std::errc{} || colon == end || *colon != ':') return std::nullopt;
  const auto rest = std::from_chars(colon + 1, end, number.minor);
  return rest.ec == std::errc{} && rest.ptr == end ? std::optional(number) : std::nullopt;
}

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const size_t end = std::min(options.find(','), options.size());
    if (options.substr(0, end) == wanted) return true;
    options.remove_prefix(std::min(end + 1, options.size()));
  }
  return false;
}

/// A line: id, parent, device, root, point, options, any number of tags, "-", type, source, options
/// of the file system.
std::optional<Mount> parse_line(std::string_view line) {
  const std::vector<std::string_view> words = split(line);
  const auto dash = std::ranges::find(words, "-");
  if (dash - words.begin() < 6 || words.end() - dash < 3) return std::nullopt;
  const std::optional<DeviceNumber> device = parse_number(words[2]);
  if (!device) return std::nullopt;
  const std::string_view super_options = words.end() - dash > 3 ? dash[3] : std::string_view();
  return Mount{.device = *device,
               .point = unescape(words[4]),
               .root = unescape(words[3]),
               .file_system = unescape(dash[1]),
               .source = unescape(dash[2]),
               .read_only = has_option(words[5], "ro") || has_option(super_options, "ro")};
}

bool lies_on(const std::filesystem::path& path, const std::filesystem::path& point) {
  return std::ranges::mismatch(point, path).in1 == point.end();
}

size_t depth(const std::filesystem::path& path) {
  return static_cast<size_t>(std::distance(path.begin(), path.end()));
}

}  // namespace

std::string to_text(DeviceNumber number) {
  return fmt::format("{}:{}", number.major, number.minor);
}

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    const size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    if (auto mount = parse_line(mountinfo.substr(0, end))) mounts.push_back(std::move(*mount));
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  return mounts;
}

const Mount* mount_of(const std::vector<Mount>& mounts, const std::filesystem::path& path) {
  const Mount* best = nullptr;
  for (const Mount& mount : mounts) {
    // Of two at one point, the later hides the earlier.
    if (lies_on(path, mount.point) && (!best || depth(mount.point) >= depth(best->point))) {
      best = &mount;
    }
  }
  return best;
}

std::vector<Mount> mounts_for_files(const std::vector<Mount>& mounts) {
  std::vector<Mount> chosen;
  for (const Mount& mount : mounts) {
    const bool of_system = std::ranges::find(kSystemTypes, mount.file_system) != kSystemTypes.end();
    if (of_system || mount_of(mounts, mount.point) != &mount) continue;
    if (mount.file_system == "tmpfs" && (mount.read_only || lies_on(mount.point, "/sys"))) continue;
    const auto same = std::ranges::find(chosen, mount.device, &Mount::device);
    if (same == chosen.end()) {
      chosen.push_back(mount);
    } else if (depth(mount.point) < depth(same->point)) {
      *same = mount;
    }
  }
  return chosen;
}

}  // namespace sluice::io
