#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::stream {

/// The memory groups of this process: the paths of /proc/self/cgroup below the mount points.
struct MemoryGroups {
  std::optional<std::string> v1;  ///< Of the hierarchy with the memory controller.
  std::optional<std::string> v2;  ///< Of the unified hierarchy.
  friend bool operator==(const MemoryGroups&, const MemoryGroups&) = default;
};

/// Reads the text of /proc/self/cgroup.
[[nodiscard]] MemoryGroups parse_memory_groups(std::string_view text);

/// Reads the text of memory.max (v2) or memory.limit_in_bytes (v1). Nothing when there is no limit
/// ("max", or a number beyond 2^62, which is how v1 writes it) or no number.
[[nodiscard]] std::optional<uint64_t> parse_group_limit(std::string_view text);

/// A line of /proc/meminfo, in bytes; `field` without its colon. Nothing when it is absent.
[[nodiscard]] std::optional<uint64_t> parse_meminfo(std::string_view text, std::string_view field);

/// The default budget, from what is known: 90 % of the smaller of `group_limit` and `available`, or
/// of `physical` when neither is known. The tenth is for the kernel, the page cache and what others
/// start later.
[[nodiscard]] uint64_t default_memory_budget(std::optional<uint64_t> group_limit,
                                             std::optional<uint64_t> available, uint64_t physical);

/// The default budget of this process on this system: the smallest limit of its memory group and
/// the groups around it, /proc/meminfo, and where those are missing the size of the physical
/// memory. Bytes.
[[nodiscard]] uint64_t measure_memory_budget();

}  // namespace sluice::stream
