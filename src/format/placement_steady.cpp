#include "format/placement_steady.h"

#include "base/check.h"

#include <bit>
#include <cstddef>
#include <utility>

namespace sluice::format {
namespace {

int kept(DriveSet now, DriveSet planned) { return std::popcount(now & planned); }

}  // namespace

// A segment has few pieces, so looking at each pair of them is cheap. Each exchange keeps more, and
// no more than all can be kept.
void keep_in_place(std::span<const uint32_t> piece_bytes, std::span<const DriveSet> now,
                   std::span<DriveSet> planned) {
  SLUICE_CHECK(piece_bytes.size() == now.size() && now.size() == planned.size());
  for (bool better = true; better;) {
    better = false;
    for (size_t a = 0; a < planned.size(); ++a) {
      for (size_t b = a + 1; b < planned.size(); ++b) {
        if (piece_bytes[a] != piece_bytes[b] || planned[a] == planned[b]) continue;
        const int as_planned = kept(now[a], planned[a]) + kept(now[b], planned[b]);
        const int exchanged = kept(now[a], planned[b]) + kept(now[b], planned[a]);
        if (exchanged <= as_planned) continue;
        std::swap(planned[a], planned[b]);
        better = true;
      }
    }
  }
}

}  // namespace sluice::format
