#pragma once
#include "format/storage.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::format {

/// What became of reading a shard back.
struct ShardCheck {
  std::string sha256;   ///< Of the whole shard; empty when some of its bytes could not be had.
  uint64_t pieces = 0;  ///< That were read, each copy counted.
  /// What is wrong, each naming file and bytes, or the bytes that nobody has.
  std::vector<std::string> troubles;

  [[nodiscard]] bool good() const { return troubles.empty(); }
};

enum class CheckScope : uint8_t {
  kPacks,     ///< Only what packs have counts.
  kAllFiles,  ///< What no pack has is read from a shard in place.
};

/// Reads every copy of every packed piece of a shard, around the page cache where the file system
/// allows that, checks and decodes it, and computes the SHA-256 of the shard from them. Throws
/// Error only when a file cannot be opened. `advanced`: is told bytes of the shard that are done;
/// may be empty.
[[nodiscard]] ShardCheck check_shard(const Storage& storage, ShardId shard, CheckScope scope,
                                     const std::function<void(uint64_t bytes)>& advanced);

}  // namespace sluice::format
