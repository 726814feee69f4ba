#include "model/placement_moving.h"

#include "base/check.h"
#include "base/error.h"
#include "format/storage_reader.h"

#include <algorithm>
#include <bit>

namespace sluice::model {
namespace {

using format::Codec;
using format::VolumeSet;

std::vector<uint32_t> bits_of(VolumeSet set) {
  std::vector<uint32_t> bits;
  for (; set != 0; set &= set - 1) bits.push_back(static_cast<uint32_t>(std::countr_zero(set)));
  return bits;
}

/// Whether somebody holds the piece with this byte coded.
Codec codec_of(const format::Storage& storage, ShardId shard, uint64_t offset) {
  std::vector<format::ShardSource> sources;
  storage.find(shard, offset, sources);
  Codec codec = Codec::kRaw;
  for (const format::ShardSource& source : sources) codec = std::max(codec, source.holder.codec);
  return codec;
}

/// Calls visit(segment, its pieces in the shard, their wanted holders among those that change).
template <class Visit>
void visit_segments(const MoveJob& job, const Visit& visit) {
  size_t at = 0;
  for (const uint32_t index : job.layout.of_shard(job.shard)) {
    const std::vector<PackPiece> pieces = job.layout.pieces(index, job.shard, Codec::kRaw);
    SLUICE_CHECK(at + pieces.size() <= job.wanted.size());
    std::vector<VolumeSet> holders;
    for (size_t p = 0; p < pieces.size(); ++p) {
      holders.push_back(job.wanted[at + p] & job.changed);
    }
    visit(job.layout.segment(index), pieces, holders);
    at += pieces.size();
  }
  SLUICE_CHECK(at == job.wanted.size());
}

uint64_t bytes_to_write(std::span<const PackPiece> pieces, std::span<const VolumeSet> holders) {
  uint64_t bytes = 0;
  for (size_t p = 0; p < pieces.size(); ++p) {
    bytes += pieces[p].cut.bytes() * static_cast<uint64_t>(std::popcount(holders[p]));
  }
  return bytes;
}

}  // namespace

VolumeSet changed_volumes(std::span<const VolumeSet> now, std::span<const VolumeSet> wanted) {
  SLUICE_CHECK(now.size() == wanted.size());
  VolumeSet changed = 0;
  for (size_t p = 0; p < now.size(); ++p) changed |= now[p] ^ wanted[p];
  return changed;
}

uint64_t bytes_to_write(const MoveJob& job) {
  uint64_t bytes = 0;
  visit_segments(
      job, [&](const format::Segment&, std::span<const PackPiece> pieces,
               std::span<const VolumeSet> holders) { bytes += bytes_to_write(pieces, holders); });
  return bytes;
}

WrittenPacks write_moved_packs(const MoveJob& job, const std::function<void(uint64_t)>& written,
                               const std::atomic<bool>& stop) {
  ShardWriter writer({job.destinations.begin(), job.destinations.end()});
  format::StorageReader reader(job.storage);
  const auto read = [&](uint64_t offset, std::span<std::byte> into) {
    reader.read(job.shard, offset, into);
  };
  visit_segments(job, [&](const format::Segment& segment, std::vector<PackPiece> pieces,
                          const std::vector<VolumeSet>& sets) {
    if (stop) {
      throw Error(ErrorCode::kCancelled, "stopped; the same command goes on where it was");
    }
    std::vector<std::vector<uint32_t>> holders;
    for (size_t p = 0; p < pieces.size(); ++p) {
      const uint64_t offset = bytes_of(segment, job.shard, pieces[p].cut).offset;
      if (sets[p] != 0) pieces[p].codec = codec_of(job.storage, job.shard, offset);
      holders.push_back(bits_of(sets[p]));
    }
    writer.add_segment(segment, pieces, holders, read);
    if (written) written(bytes_to_write(pieces, sets));
  });
  return writer.finish();
}

}  // namespace sluice::model
