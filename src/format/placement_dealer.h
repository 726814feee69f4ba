#pragma once
#include "format/placement_planner.h"
#include "format/placement_shares.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::format {

/// Pieces are dealt from the most to the least used segment, those of one in file order. Each drive
/// is owed a part of every piece, whoever is owed most gets the next one, and what a drive got is
/// taken off. So it has its part of every run of pieces, to within about a piece.
class PlacementDealer {
 public:
  PlacementDealer(const UseCurve& curve, const PlacementRequest& request);

  /// Each piece to the drive that shall read it. [ranks][drives] parts of each segment. False when
  /// a piece finds no room.
  [[nodiscard]] bool deal_readers(std::span<const double> shares);
  /// To so many further drives each, in proportion to rates as far as room goes. False as above.
  [[nodiscard]] bool deal_copies(uint32_t copies);
  /// As many more of what is used as there is room for.
  void deal_extras();
  /// By piece, in the order of the request.
  [[nodiscard]] std::vector<DriveSet> holders() const;
  /// That a piece lacked which found no room.
  [[nodiscard]] uint64_t missing_bytes() const { return missing_bytes_; }

 private:
  // What drives shall get of a run of pieces, beside what they hold already.
  struct Due {
    std::vector<double> bytes;  // By drive.
    std::vector<double> open;   // Of pieces to come that it does not hold.
    bool scarce = false;        // Is the room for them.
  };
  struct DealtPiece {
    uint32_t index = 0;  // In the request.
    uint32_t rank = 0;   // Of its segment.
    uint32_t bytes = 0;
    DriveSet holders = 0;
  };

  [[nodiscard]] DriveSet drives_with_room(const DealtPiece& piece) const;
  [[nodiscard]] uint32_t most_owed(DriveSet drives) const;
  [[nodiscard]] bool give(size_t piece, DriveSet preferred);
  [[nodiscard]] std::optional<uint32_t> make_room(size_t piece);
  [[nodiscard]] Due due(std::span<const DealtPiece> pieces, uint32_t copies) const;
  DriveSet owe(Due& due, const DealtPiece& piece);
  [[nodiscard]] bool deal_extra(std::span<DealtPiece> pieces);
  void put(DealtPiece& piece, uint32_t drive);

  const UseCurve& curve_;
  std::span<const PlannedDrive> drives_;
  std::vector<DealtPiece> pieces_;
  std::vector<uint64_t> room_;  // That is left, by drive.
  std::vector<double> owed_;    // Bytes, by drive.
  uint64_t missing_bytes_ = 0;
};

}  // namespace sluice::format
