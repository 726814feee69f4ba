#include "format/placement_dealer.h"

#include "format/pack_plan.h"
#include "format/placement.h"

#include <algorithm>
#include <bit>

namespace sluice::format {
namespace {

constexpr DriveSet bit(uint32_t drive) { return DriveSet{1} << drive; }

}  // namespace

PlacementDealer::PlacementDealer(const UseCurve& curve, const PlacementRequest& request)
    : curve_(curve), drives_(request.drives) {
  std::vector<uint32_t> first;
  uint32_t pieces = 0;
  for (const PlannedSegment& segment : request.segments) {
    first.push_back(pieces);
    pieces += static_cast<uint32_t>(segment.piece_bytes.size());
  }
  pieces_.reserve(pieces);
  for (uint32_t rank = 0; rank < curve.ranked().size(); ++rank) {
    uint32_t index = first[curve.ranked()[rank].index];
    for (const uint32_t bytes : request.segments[curve.ranked()[rank].index].piece_bytes) {
      pieces_.push_back({.index = index++, .rank = rank, .bytes = bytes});
    }
  }
  for (const PlannedDrive& drive : drives_) room_.push_back(drive.room_bytes);
}

// Those that do not hold it yet.
DriveSet PlacementDealer::drives_with_room(const DealtPiece& piece) const {
  DriveSet drives = 0;
  for (uint32_t d = 0; d < drives_.size(); ++d) {
    if (room_[d] >= piece.bytes) drives |= bit(d);
  }
  return drives & ~piece.holders;
}

uint32_t PlacementDealer::most_owed(DriveSet drives) const {
  auto best = static_cast<uint32_t>(std::countr_zero(drives));
  for (uint32_t d = best + 1; d < drives_.size(); ++d) {
    if ((drives & bit(d)) != 0 && owed_[d] > owed_[best]) best = d;
  }
  return best;
}

void PlacementDealer::put(DealtPiece& piece, uint32_t drive) {
  piece.holders |= bit(drive);
  room_[drive] -= piece.bytes;
}

// One more holder: of the preferred drives if one has room, or else of any.
bool PlacementDealer::give(size_t piece, DriveSet preferred) {
  DealtPiece& p = pieces_[piece];
  const DriveSet open = drives_with_room(p);
  std::optional<uint32_t> drive;
  if (open != 0) {
    drive = most_owed((open & preferred) != 0 ? open & preferred : open);
  } else {
    drive = make_room(piece);
  }
  if (!drive) return false;
  put(p, *drive);
  owed_[*drive] -= p.bytes;
  return true;
}

// Where the last pieces find no room, others have left gaps that are too small, or room only with
// those who hold the piece already. Then one that was dealt before moves, the least used first.
std::optional<uint32_t> PlacementDealer::make_room(size_t piece) {
  const DealtPiece& p = pieces_[piece];
  for (size_t i = piece; i-- > 0;) {
    DealtPiece& moved = pieces_[i];
    const DriveSet to = drives_with_room(moved);
    if (to == 0) continue;
    for (uint32_t from = 0; from < drives_.size(); ++from) {
      if ((moved.holders & ~p.holders & bit(from)) == 0) continue;
      if (room_[from] + moved.bytes < p.bytes) continue;
      moved.holders &= ~bit(from);
      room_[from] += moved.bytes;
      put(moved, most_owed(to));
      return from;
    }
  }
  missing_bytes_ = p.bytes;
  for (uint32_t d = 0; d < drives_.size(); ++d) {
    if ((p.holders & bit(d)) == 0) {
      missing_bytes_ = std::min<uint64_t>(missing_bytes_, p.bytes - room_[d]);
    }
  }
  return std::nullopt;
}

bool PlacementDealer::deal_readers(std::span<const double> shares) {
  owed_.assign(drives_.size(), 0.0);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const auto of_segment = shares.subspan(pieces_[i].rank * drives_.size(), drives_.size());
    for (size_t d = 0; d < drives_.size(); ++d) owed_[d] += of_segment[d] * pieces_[i].bytes;
    if (!give(i, 0)) return false;
  }
  return true;
}

// `copies` of all pieces or as much as there is room for, in proportion to rates as far as a
// drive's room goes.
PlacementDealer::Due PlacementDealer::due(std::span<const DealtPiece> pieces,
                                          uint32_t copies) const {
  Due due{.bytes = {}, .open = std::vector<double>(drives_.size()), .scarce = false};
  uint64_t bytes = 0, usable = 0;
  for (const DealtPiece& piece : pieces) {
    bytes += piece.bytes;
    for (uint32_t d = 0; d < drives_.size(); ++d) {
      if ((piece.holders & bit(d)) == 0) due.open[d] += piece.bytes;
    }
  }
  std::vector<VolumeRoom> rooms;
  for (size_t d = 0; d < drives_.size(); ++d) {
    rooms.push_back({drives_[d].rate, std::min(room_[d], static_cast<uint64_t>(due.open[d]))});
    usable += rooms.back().room_bytes;
  }
  const uint64_t sum = std::min(bytes * copies, usable);
  due.scarce = usable < bytes * copies;
  if (sum > 0) due.bytes = pack_shares(rooms, sum, 1);
  for (double& part : due.bytes) part *= static_cast<double>(sum);
  if (due.bytes.empty()) {  // All room, and by the rounding of sums a little less than that.
    for (const VolumeRoom& r : rooms) due.bytes.push_back(static_cast<double>(r.room_bytes));
  }
  return due;
}

// Returns who cannot do without this piece and still get what is due.
DriveSet PlacementDealer::owe(Due& due, const DealtPiece& piece) {
  DriveSet must = 0;
  for (uint32_t d = 0; d < drives_.size(); ++d) {
    if ((piece.holders & bit(d)) != 0) continue;
    if (due.open[d] > 0.0) owed_[d] += due.bytes[d] / due.open[d] * piece.bytes;
    due.open[d] -= piece.bytes;
    if (due.open[d] < due.bytes[d] - 0.5) must |= bit(d);
  }
  return must;
}

bool PlacementDealer::deal_copies(uint32_t copies) {
  Due due = this->due(pieces_, copies);
  owed_.assign(drives_.size(), 0.0);
  for (size_t i = 0; copies > 0 && i < pieces_.size(); ++i) {
    const DriveSet before = pieces_[i].holders;
    const DriveSet must = owe(due, pieces_[i]);
    for (uint32_t c = 0; c < copies; ++c) {
      if (!give(i, must)) return false;
    }
    for (uint32_t d = 0; d < drives_.size(); ++d) {
      if ((pieces_[i].holders & ~before & bit(d)) != 0) due.bytes[d] -= pieces_[i].bytes;
    }
  }
  return true;
}

// One more copy of equally used pieces. Where room is scarce, each of their segments gets some.
bool PlacementDealer::deal_extra(std::span<DealtPiece> pieces) {
  const size_t most = std::min(drives_.size(), Piece::kHoldersMax);
  bool some = false;
  Due due = this->due(pieces, 1);
  for (DealtPiece& piece : pieces) {
    if (static_cast<size_t>(std::popcount(piece.holders)) == most) continue;
    owe(due, piece);
    const DriveSet open = drives_with_room(piece);
    if (open == 0) continue;
    const uint32_t drive = most_owed(open);
    if (due.scarce && owed_[drive] < 0.5 * piece.bytes) continue;
    put(piece, drive);
    owed_[drive] -= piece.bytes;
    due.bytes[drive] -= piece.bytes;
    some = true;
  }
  return some;
}

void PlacementDealer::deal_extras() {
  owed_.assign(drives_.size(), 0.0);
  for (bool some = true; some;) {
    some = false;
    for (size_t begin = 0, end = 0; begin < pieces_.size(); begin = end) {
      const double uses = curve_.ranked()[pieces_[begin].rank].uses;
      if (uses == 0.0) break;
      while (end < pieces_.size() && curve_.ranked()[pieces_[end].rank].uses == uses) ++end;
      some |= deal_extra(std::span(pieces_).subspan(begin, end - begin));
    }
  }
}

std::vector<DriveSet> PlacementDealer::holders() const {
  std::vector<DriveSet> holders(pieces_.size());
  for (const DealtPiece& piece : pieces_) holders[piece.index] = piece.holders;
  return holders;
}

}  // namespace sluice::format
