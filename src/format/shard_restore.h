#pragma once
#include "format/storage.h"
#include "format/storage_reader.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace sluice::format {

/// Writes a released shard into a folder, where it appears only when its SHA-256 has proved to be
/// that of the manifest. Returns that sum; it is only computed when the manifest has none. Throws
/// Error(kCorrupt) that names the shard when it is another, and as StorageReader::read() and
/// OutputFile do. `advanced`: is told bytes that are done; may be empty.
std::string restore_shard(StorageReader& reader, ShardId shard, const ManifestShard& known,
                          const std::filesystem::path& folder,
                          const std::function<void(uint64_t bytes)>& advanced);

}  // namespace sluice::format
