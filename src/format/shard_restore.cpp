#include "format/shard_restore.h"

#include "base/error.h"
#include "base/sha256.h"
#include "format/output_file.h"

#include <algorithm>
#include <vector>

namespace sluice::format {

std::string restore_shard(StorageReader& reader, ShardId shard, const ManifestShard& known,
                          const std::filesystem::path& folder,
                          const std::function<void(uint64_t bytes)>& advanced) {
  constexpr uint64_t kReadBytes = 1u << 20;
  std::vector<std::byte> buffer(kReadBytes);
  OutputFile file(folder / known.name);
  Sha256 sha;
  for (uint64_t at = 0; at < known.bytes;) {
    const std::span<std::byte> bytes =
        std::span(buffer).first(std::min<uint64_t>(buffer.size(), known.bytes - at));
    reader.read(shard, at, bytes);
    sha.add(bytes);
    file.write(bytes);
    at += bytes.size();
    if (advanced) advanced(bytes.size());
  }
  std::string sha256 = sha.finish();
  if (!known.sha256.empty() && sha256 != known.sha256) {
    throw Error(ErrorCode::kCorrupt,
                "{}: what the volumes hold has the SHA-256 {} instead of {}; sluice pack --verify "
                "names what is damaged",
                known.name, sha256, known.sha256);
  }
  file.commit();
  return sha256;
}

}  // namespace sluice::format
