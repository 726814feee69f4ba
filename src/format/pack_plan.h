#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::format {

/// What decides how much of a model a volume gets.
struct VolumeRoom {
  double rate = 0.0;        ///< Bytes per second that it reads; in any one unit.
  uint64_t room_bytes = 0;  ///< That packs may take.
};

/// The part of a model that each volume gets: in proportion to its rate as far as its room goes,
/// at most one copy, and `copies` in sum. Volumes of rate zero get something only when the others
/// are full. Empty when there is too little room.
[[nodiscard]] std::vector<double> pack_shares(std::span<const VolumeRoom> volumes, uint64_t bytes,
                                              uint32_t copies);

/// Deals pieces out to volumes so that each has its share of any run of them, to within a piece.
/// The same pieces and shares give the same result on every machine.
class PieceDealer {
 public:
  /// `shares`: from pack_shares(). `copies` different volumes get each piece.
  PieceDealer(std::vector<double> shares, std::vector<uint64_t> room_bytes, uint32_t copies);

  /// The volumes of the next piece, ascending; valid until the next call. Empty when fewer than
  /// `copies` have room for it.
  [[nodiscard]] std::span<const uint32_t> deal(uint64_t bytes);
  /// What each volume got.
  [[nodiscard]] std::span<const uint64_t> dealt() const { return got_; }

 private:
  const std::vector<double> shares_;
  const std::vector<uint64_t> room_bytes_;
  const uint32_t copies_;
  std::vector<uint64_t> got_;
  std::vector<uint32_t> order_, chosen_;
  uint64_t bytes_ = 0;  // Of all pieces, each counted once.
};

/// What happens to the disks while packs are written, one shard after the other.
struct PackSteps {
  /// [shards][volumes]: bytes that the new packs of a shard take.
  std::vector<std::vector<uint64_t>> pack_bytes;
  /// [shards][devices]: what is deleted once they are all there.
  std::vector<std::vector<uint64_t>> freed_bytes;
  std::vector<uint32_t> device;      ///< By volume: where it lies.
  std::vector<uint64_t> free_bytes;  ///< By device, before the first shard.
};

/// How much free space each device lacks at its worst moment; zeros when all is well.
[[nodiscard]] std::vector<uint64_t> missing_bytes(const PackSteps& steps);

}  // namespace sluice::format
