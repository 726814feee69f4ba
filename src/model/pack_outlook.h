#pragma once
#include "format/manifest.h"
#include "format/pack_plan.h"
#include "model/pack_volumes.h"
#include "model/packer.h"
#include "model/shard_layout.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::model {

struct PackPlanRequest {
  const format::Manifest& manifest;
  const ShardLayout& layout;
  std::span<const PackVolume> volumes;
  std::span<const ShardId> pending;  ///< Shards to pack, in the order of the work.
  uint32_t copies = 1;
  uint64_t source_device = 0;  ///< Where the source shards lie.
  bool reclaim = false;
};

/// Who gets what.
struct PackPlan {
  format::PieceDealer dealer;  ///< Deals the pieces of the pending shards, from the first on.
  PackOutlook outlook;
};

/// Plans with raw pieces, so that codecs only make it less. Throws Error(kIo) that says how much
/// room is missing on which volume.
[[nodiscard]] PackPlan plan_packs(const PackPlanRequest& request);

}  // namespace sluice::model
