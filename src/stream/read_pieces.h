#pragma once
#include "base/types.h"
#include "format/segment.h"

#include <cstdint>
#include <vector>

namespace sluice::stream {

/// One read of a segment: whole blocks of a file, and where they land.
struct Piece {
  DriveId drive;
  uint64_t offset = 0;         ///< Bytes from the start of the file, a multiple of io::kBlockBytes.
  uint64_t memory_offset = 0;  ///< Bytes from the start of the segment's memory, likewise.
  uint64_t bytes = 0;          ///< Likewise.
  bool retried = false;        ///< Failed already; another failure loses the segment.
};

/// Cuts a segment into reads of at most `read_bytes` (a multiple of io::kBlockBytes), in the order
/// of its extents. Each extent is rounded outwards to blocks; what that adds falls into memory that
/// no extent uses.
void cut_pieces(const format::Segment& segment, uint64_t read_bytes, std::vector<Piece>& pieces);

/// How many pieces that gives.
[[nodiscard]] uint64_t piece_count(const format::Segment& segment, uint64_t read_bytes);

/// Bytes of all extents, without rounding.
[[nodiscard]] uint64_t payload_bytes(const format::Segment& segment);

}  // namespace sluice::stream
