#include "stream/read_pieces.h"

#include "base/check.h"
#include "io/drive_array.h"

#include <algorithm>

namespace sluice::stream {

void cut_pieces(const format::Segment& segment, uint64_t read_bytes, std::vector<Piece>& pieces) {
  SLUICE_CHECK(read_bytes > 0 && read_bytes % io::kBlockBytes == 0);
  pieces.clear();
  for (const format::Extent& extent : segment.extents) {
    // For example offset 5000, 100 bytes, memory offset 904: block 4096 of the file goes to memory
    // 0, so byte 5000 lands at 904 as promised.
    const uint64_t lead = extent.offset % io::kBlockBytes;
    SLUICE_CHECK(extent.memory_offset % io::kBlockBytes == lead);
    const uint64_t bytes = round_up(lead + extent.bytes, io::kBlockBytes);
    SLUICE_CHECK(extent.memory_offset - lead + bytes <= segment.memory_bytes);
    for (uint64_t at = 0; at < bytes; at += read_bytes) {
      pieces.push_back({.drive = extent.drive,
                        .offset = extent.offset - lead + at,
                        .memory_offset = extent.memory_offset - lead + at,
                        .bytes = std::min(read_bytes, bytes - at)});
    }
  }
}

uint64_t piece_count(const format::Segment& segment, uint64_t read_bytes) {
  uint64_t count = 0;
  for (const format::Extent& extent : segment.extents) {
    count += (extent.offset % io::kBlockBytes + extent.bytes + read_bytes - 1) / read_bytes;
  }
  return count;
}

uint64_t payload_bytes(const format::Segment& segment) {
  uint64_t bytes = 0;
  for (const format::Extent& extent : segment.extents) bytes += extent.bytes;
  return bytes;
}

}  // namespace sluice::stream
