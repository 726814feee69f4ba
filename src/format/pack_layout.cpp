#include "base/check.h"
#include "format/output_file.h"
#include "format/pack.h"

#include <algorithm>
#include <bit>
#include <filesystem>

#include <fmt/format.h>

namespace sluice::format {
namespace {

using io::kBlockBytes;

constexpr uint64_t kPieceBlocks = (1u << 20) / kBlockBytes;
constexpr std::string_view kSuffix = ".slpack";

void cut_evenly(uint64_t first, uint64_t end, std::vector<PieceCut>& out) {
  const uint64_t blocks = end - first;
  const uint64_t pieces = (blocks + kPieceBlocks - 1) / kPieceBlocks;
  for (uint64_t i = 0; i < pieces; ++i) {
    const uint64_t from = first + blocks * i / pieces;
    const uint64_t to = first + blocks * (i + 1) / pieces;
    out.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to - from)});
  }
}

}  // namespace

uint64_t segment_alignment(uint64_t held_bytes, uint64_t alignment) {
  if (held_bytes >= alignment) return alignment;
  return std::min(alignment, std::bit_ceil(std::max(held_bytes, kBlockBytes)));
}

std::vector<PieceCut> cut_for_pack(const Segment& segment, std::span<const uint64_t> borders) {
  SLUICE_CHECK(std::ranges::is_sorted(borders));
  SLUICE_CHECK(segment.memory_bytes / kBlockBytes <= UINT32_MAX);
  std::vector<PieceCut> cuts;
  auto border = borders.begin();
  for (const Extent& extent : segment.extents) {
    const uint64_t extent_end = extent.memory_offset + extent.bytes;
    const uint64_t end = round_up(extent_end, kBlockBytes) / kBlockBytes;
    uint64_t first = extent.memory_offset / kBlockBytes;
    for (; border != borders.end() && *border < extent_end; ++border) {
      const uint64_t at = (*border + kBlockBytes / 2) / kBlockBytes;
      if (*border <= extent.memory_offset || at <= first || at >= end) continue;
      cut_evenly(first, at, cuts);
      first = at;
    }
    cut_evenly(first, end, cuts);
  }
  return cuts;
}

std::string pack_file_name(std::string_view shard_name, uint32_t generation) {
  const std::string stem = std::filesystem::path(shard_name).stem().string();
  return generation == 1 ? fmt::format("{}{}", stem, kSuffix)
                         : fmt::format("{}.{}{}", stem, generation, kSuffix);
}

bool is_pack_of(std::string_view file_name, std::string_view shard_name) {
  const std::string first = pack_file_name(shard_name);
  if (file_name == first) return true;
  const std::string stem = first.substr(0, first.size() - kSuffix.size()) + ".";
  if (!file_name.starts_with(stem) || !file_name.ends_with(kSuffix)) return false;
  if (file_name.size() <= stem.size() + kSuffix.size()) return false;
  file_name.remove_prefix(stem.size());
  file_name.remove_suffix(kSuffix.size());
  return file_name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_unfinished_pack(std::string_view file_name) {
  return file_name.ends_with(std::string(kSuffix).append(OutputFile::kTemporarySuffix));
}

}  // namespace sluice::format
