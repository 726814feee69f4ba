#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::format {

/// Parses model.safetensors.index.json and calls `visit(tensor, shard)` for each entry of its
/// weight_map. Returns metadata.total_size when it is there. Throws Error(kCorrupt) that names
/// `path` when it is not such an index, a tensor stands in it twice, or a shard is not a plain file
/// name.
std::optional<uint64_t> parse_index(
    std::string_view json, const std::string& path,
    const std::function<void(std::string_view tensor, std::string_view shard)>& visit);

}  // namespace sluice::format
