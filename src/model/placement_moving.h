#pragma once
#include "format/placement_file.h"
#include "format/storage.h"
#include "model/shard_layout.h"
#include "model/shard_writer.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sluice::model {

/// The volumes whose pieces of a shard are others than they shall be: only their packs are written
/// anew. Pieces in the same order in both.
[[nodiscard]] format::VolumeSet changed_volumes(std::span<const format::VolumeSet> now,
                                                std::span<const format::VolumeSet> wanted);

/// The new packs of one shard.
struct MoveJob {
  const format::Storage& storage;  ///< Has the shard's bytes.
  const ShardLayout& layout;
  ShardId shard;
  std::span<const format::VolumeSet> wanted;  ///< [pieces of the shard]
  format::VolumeSet changed = 0;              ///< Only these get packs.
  /// By bit of a set; those that do not change may be anything.
  std::span<const PackDestination> destinations;
};

/// Bytes of memory that the pieces of the new packs have, all packs together.
[[nodiscard]] uint64_t bytes_to_write(const MoveJob& job);

/// Writes them from whoever has good bytes; a piece that somebody holds coded is coded again. The
/// old packs stay. Throws Error as format::StorageReader and ShardWriter do, and kCancelled when
/// `stop` became true. `written`: is told bytes of pieces that were written; may be empty.
[[nodiscard]] WrittenPacks write_moved_packs(const MoveJob& job,
                                             const std::function<void(uint64_t)>& written,
                                             const std::atomic<bool>& stop);

}  // namespace sluice::model
