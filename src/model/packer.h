#pragma once
#include "format/placement.h"
#include "format/sha256_sums.h"
#include "model/pack_volumes.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::model {

struct PackRequest {
  std::filesystem::path source;  ///< Has the released shards.
  std::filesystem::path model;   ///< Gets the manifest; may be the source.
  std::vector<PackTarget> targets;
  format::Codec codec = format::Codec::kRaw;  ///< Of the scales of experts.
  uint32_t copies = 1;                        ///< Volumes that get each piece.
  bool reclaim = false;  ///< Delete each source shard when its packs have proved to hold all of it.
  bool replan = false;   ///< Go on with an unfinished conversion that was asked for differently.
  format::Sha256Sums sums{};  ///< What shards must have; those without are only computed.
  bool all_sums = false;      ///< Each shard must have one.
  std::string sums_origin{};  ///< Where the sums are from, in words.
};

/// What a conversion will do.
struct PackOutlook {
  struct VolumeLine {
    std::string label;
    std::filesystem::path folder;
    double rate = 0.0;        ///< Bytes per second.
    uint64_t room_bytes = 0;  ///< For more packs.
    uint64_t bytes = 0;       ///< That its new packs take at most.
    uint32_t packs = 0;       ///< New ones.
  };
  std::vector<VolumeLine> volumes;
  uint32_t shards = 0;       ///< Of the model.
  uint32_t shards_done = 0;  ///< That packs have already.
  uint64_t shard_bytes = 0;  ///< Of those that are still to be packed.
  /// Source shards that --reclaim will delete.
  std::vector<std::filesystem::path> reclaimed;
  uint64_t reclaimed_bytes = 0;
  std::vector<std::string> warnings;
};

/// A shard whose packs are finished.
struct PackedShard {
  std::string name;
  uint64_t bytes = 0;         ///< Of the shard.
  uint64_t stored_bytes = 0;  ///< Of all its pieces, as packs hold them.
  std::string sha256;
  bool compared = false;  ///< With a sum from elsewhere.
};

/// Called while packing; each may be empty.
struct PackWatch {
  std::function<void(uint64_t bytes)>
      read;  ///< Bytes of shards that were read, since the last call.
  std::function<void(const PackedShard&)> packed;
  std::function<void(const std::filesystem::path&)> reclaimed;  ///< The shard that was deleted.
};

/// Converts a checkpoint to packs, one shard after the other. What is finished stays when the
/// program is killed, and another Packer goes on from there. Uses memory for the tables of the
/// checkpoint and a few pieces, however large the shards are. One thread.
class Packer {
 public:
  /// Opens everything, measures and plans; writes nothing that stays. Throws Error that says what
  /// is in the way and what to do, above all how many bytes are missing where.
  explicit Packer(PackRequest request);
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  [[nodiscard]] const PackOutlook& outlook() const;
  /// Does it. Throws Error; kCancelled soon after `stop` became true, kCorrupt that names a shard
  /// whose sum is another.
  void run(const PackWatch& watch, const std::atomic<bool>& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::model
