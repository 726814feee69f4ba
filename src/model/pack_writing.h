#pragma once
#include "format/pack_plan.h"
#include "model/pack_volumes.h"
#include "model/shard_layout.h"
#include "model/shard_writer.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace sluice::model {

/// Everything that decides the packs of one shard.
struct ShardJob {
  ShardId shard;
  std::string name;              ///< Of the shard's file.
  std::filesystem::path source;  ///< That file.
  uint64_t bytes = 0;            ///< Its size.
  format::Codec codec = format::Codec::kRaw;
  std::string sha256;  ///< What it must have; empty: anything.
  std::string sha256_origin;
};

/// What came of it.
struct ShardPacks {
  std::string sha256;
  WrittenPacks written;
};

/// Writes the packs of a shard, a file on each volume that the dealer gives something; they get
/// their names only when all of them are whole and the SHA-256 is right. Throws Error that names
/// the shard; kCancelled when `stop` became true. `read`: is told bytes that were read; may be
/// empty.
[[nodiscard]] ShardPacks write_shard_packs(const ShardJob& job, const ShardLayout& layout,
                                           format::PieceDealer& dealer,
                                           std::span<const PackVolume> volumes,
                                           const std::function<void(uint64_t)>& read,
                                           const std::atomic<bool>& stop);

}  // namespace sluice::model
