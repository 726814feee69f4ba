#pragma once
#include "base/types.h"
#include "io/drive_array.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::format {

/// Contiguous bytes of one segment in one file, and where they land in the segment's memory.
struct Extent {
  ShardId shard;
  uint64_t offset = 0;  ///< Bytes from the start of the file; any alignment.
  uint64_t bytes = 0;
  uint64_t memory_offset =
      0;  ///< Bytes from the start of the segment's memory; congruent to `offset`
          ///< modulo io::kBlockBytes, so that a direct read needs no copy.
  friend bool operator==(const Extent&, const Extent&) = default;
};

enum class SegmentKind : uint8_t {
  kSpine,
  kExpert,
  kOther,  ///< What else a shard has: only packs hold it as segments.
};

/// The unit of storage, caching and transfer: an expert, or a row panel of a spine matrix.
struct Segment {
  SegmentKind kind = SegmentKind::kExpert;
  uint64_t memory_bytes = 0;  ///< What it occupies when loaded, a multiple of io::kBlockBytes.
  std::vector<Extent> extents;
};

/// A range of a file that a segment shall hold.
struct FileRange {
  ShardId shard;
  uint64_t offset = 0, bytes = 0;
};

/// Lays `ranges` out in memory: neighbours in a file share one extent, every other range starts in
/// a block of its own. `place[i]` receives the memory offset of ranges[i].
[[nodiscard]] Segment lay_out_segment(SegmentKind kind, const std::vector<FileRange>& ranges,
                                      std::vector<uint64_t>& place);

}  // namespace sluice::format
