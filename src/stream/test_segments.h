#pragma once
#include "format/placement.h"
#include "io/sim_drives.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// What several tests of this folder need.
namespace sluice::stream {

/// Byte of a file of TestSegments: says which file and which offset it is of.
[[nodiscard]] inline std::byte expected_byte(ShardId shard, uint64_t offset) {
  const uint64_t mixed = (offset + 1) * 0x9E3779B97F4A7C15u + shard.value * 0xC2B2AE3D27D4EB4Fu;
  return static_cast<std::byte>(mixed >> 56);
}

/// Segments of up to a number of blocks each, scattered over two shards at odd offsets, and drives
/// that read those. The last extent of a shard ends at its last byte.
struct TestSegments {
  std::vector<format::Segment> segments;
  std::vector<uint64_t> file_bytes{0, 0};
  std::vector<std::vector<std::byte>> contents;  ///< Of the files, for the drives.
  uint32_t copies =
      1;             ///< Of the shards, each on a drive of its own: file = copy * shards + shard.
  uint64_t gap = 0;  ///< Least bytes between segments; under a block, neighbours share blocks.

  /// Adds `count` segments of `extents` extents of `extent_bytes` bytes.
  void add(format::SegmentKind kind, size_t count, uint64_t extent_bytes, size_t extents = 1) {
    for (size_t i = 0; i < count; ++i) {
      std::vector<format::FileRange> ranges;
      for (size_t e = 0; e < extents; ++e) {
        const auto shard = static_cast<uint16_t>((segments.size() + e) % file_bytes.size());
        uint64_t& end = file_bytes[shard];
        end += gap + 1 + segments.size() * 13 % 5000;
        ranges.push_back({{shard}, end, extent_bytes});
        end += extent_bytes;
      }
      std::vector<uint64_t> place;
      segments.push_back(format::lay_out_segment(kind, ranges, place));
    }
  }

  [[nodiscard]] uint64_t largest() const {
    uint64_t bytes = 0;
    for (const format::Segment& s : segments) bytes = std::max(bytes, s.memory_bytes);
    return bytes;
  }

  [[nodiscard]] format::Placement placement(uint64_t piece_bytes) const {
    std::vector<std::vector<FileId>> files(file_bytes.size());
    for (size_t file = 0; file < copies * files.size(); ++file) {
      files[file % files.size()].push_back({static_cast<uint16_t>(file)});
    }
    return format::Placement(
        {.segments = segments, .shard_files = files, .packed = {}, .piece_bytes = piece_bytes});
  }

  /// To be called once, when all segments have been added; this must outlive the drives. Their
  /// reads end in an order that the seed decides, one or several at a time; each fails with that
  /// chance, however often it is tried.
  [[nodiscard]] std::unique_ptr<io::SimDrives> make_drives(uint64_t seed, bool own_thread,
                                                           double fault_chance = 0) {
    std::vector<io::SimFile> files;
    contents.resize(file_bytes.size());
    for (uint16_t s = 0; s < file_bytes.size(); ++s) {
      contents[s].resize(file_bytes[s]);
      for (uint64_t i = 0; i < file_bytes[s]; ++i) contents[s][i] = expected_byte({s}, i);
    }
    for (size_t file = 0; file < copies * contents.size(); ++file) {
      files.push_back({.path = "simulated-" + std::to_string(file),
                       .content = contents[file % contents.size()],
                       .device = file / contents.size()});
    }
    const io::SimDevice device{.latency = Nanos(100),
                               .latency_spread = Nanos(100'000),
                               .error_chance = fault_chance / 2,
                               .short_chance = fault_chance / 2,
                               .faults_per_place = io::SimFault::kForGood};
    return std::make_unique<io::SimDrives>(files,
                                           io::SimOptions{.seed = seed,
                                                          .devices = std::vector(copies, device),
                                                          .collect_delay_max = Nanos(30'000),
                                                          .idle_waits_for_wake = own_thread});
  }
};

/// Whether `bytes` hold the segment.
[[nodiscard]] inline bool holds(const format::Segment& segment, std::span<const std::byte> bytes) {
  if (bytes.size() != segment.memory_bytes) return false;
  for (const format::Extent& extent : segment.extents) {
    for (uint64_t i = 0; i < extent.bytes; ++i) {
      if (bytes[extent.memory_offset + i] != expected_byte(extent.shard, extent.offset + i)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace sluice::stream
