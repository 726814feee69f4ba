#include "format/segment.h"

namespace sluice::format {

Segment lay_out_segment(SegmentKind kind, const std::vector<FileRange>& ranges,
                        std::vector<uint64_t>& place) {
  Segment segment{.kind = kind, .memory_bytes = 0, .extents = {}};
  place.clear();
  for (const FileRange& range : ranges) {
    Extent* last = segment.extents.empty() ? nullptr : &segment.extents.back();
    if (last != nullptr && last->shard == range.shard &&
        last->offset + last->bytes == range.offset) {
      place.push_back(last->memory_offset + last->bytes);
      last->bytes += range.bytes;
    } else {
      const uint64_t at = segment.memory_bytes + range.offset % io::kBlockBytes;
      segment.extents.push_back({range.shard, range.offset, range.bytes, at});
      place.push_back(at);
    }
    segment.memory_bytes = round_up(place.back() + range.bytes, io::kBlockBytes);
  }
  return segment;
}

}  // namespace sluice::format
