#include "stream/system_memory.h"

#include "base/read_file.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace sluice::stream {
namespace {

/// Calls line(text) for each line.
template <class Function>
void for_each_line(std::string_view text, Function&& line) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::string_view trim_left(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

/// Empty when the file cannot be read.
std::string read_text(const std::string& path) { return read_file(path, 1u << 20).text; }

std::optional<uint64_t> smaller(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// The smallest limit of a group and of those around it. In a container the path can name groups
/// that are not visible from inside; their files are missing, and what is visible counts.
std::optional<uint64_t> smallest_limit(const std::string& mount, std::string group,
                                       const std::string& file) {
  std::optional<uint64_t> limit;
  while (true) {
    limit = smaller(limit, parse_group_limit(read_text(mount + group + "/" + file)));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos) return limit;
    group.resize(slash);
  }
}

}  // namespace

MemoryGroups parse_memory_groups(std::string_view text) {
  MemoryGroups groups;
  // A line is "hierarchy:controllers:path"; the unified hierarchy is 0 and names no controllers.
  for_each_line(text, [&](std::string_view line) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) return;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    std::string path(line.substr(second + 1));
    if (path == "/") path.clear();
    // Commas around the list make every name in it one between commas.
    const std::string controllers =
        "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    if (line.substr(0, first) == "0" && second == first + 1) groups.v2 = path;
    if (controllers.find(",memory,") != std::string::npos) groups.v1 = path;
  });
  return groups;
}

std::optional<uint64_t> parse_group_limit(std::string_view text) {
  const std::optional<uint64_t> limit = parse_number(text);
  if (!limit || *limit > uint64_t{1} << 62) return std::nullopt;
  return limit;
}

std::optional<uint64_t> parse_meminfo(std::string_view text, std::string_view field) {
  std::optional<uint64_t> bytes;
  for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with(field) || !line.substr(field.size()).starts_with(':')) return;
    const std::optional<uint64_t> kib = parse_number(trim_left(line.substr(field.size() + 1)));
    if (kib) bytes = *kib * 1024;
  });
  return bytes;
}

uint64_t default_memory_budget(std::optional<uint64_t> group_limit,
                               std::optional<uint64_t> available, uint64_t physical) {
  const uint64_t bytes = smaller(group_limit, available).value_or(physical);
  return bytes - bytes / 10;
}

uint64_t measure_memory_budget() {
  const MemoryGroups groups = parse_memory_groups(read_text("/proc/self/cgroup"));
  std::optional<uint64_t> limit;
  if (groups.v2) limit = smallest_limit("/sys/fs/cgroup", *groups.v2, "memory.max");
  if (groups.v1) {
    limit = smaller(limit,
                    smallest_limit("/sys/fs/cgroup/memory", *groups.v1, "memory.limit_in_bytes"));
  }
  const uint64_t physical = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                            static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return default_memory_budget(limit, parse_meminfo(read_text("/proc/meminfo"), "MemAvailable"),
                               physical);
}

}  // namespace sluice::stream
