#include "model/pack_writing.h"

#include "base/check.h"
#include "base/error.h"
#include "base/sha256.h"
#include "format/pack_writer.h"
#include "io/input_file.h"

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

namespace sluice::model {
namespace {

using format::Extent;
using format::PackResult;
using format::PackWriter;

constexpr uint64_t kHashBytes = 1u << 20;  // Read at once.

/// The SHA-256 of a file, computed behind those who read it for something else, so that its bytes
/// come from the page cache.
class FollowingHash {
 public:
  explicit FollowingHash(const io::InputFile& file) : file_(file), buffer_(kHashBytes) {}

  void advance_to(uint64_t offset) {
    while (at_ < offset) {
      const std::span<std::byte> bytes =
          std::span(buffer_).first(std::min<uint64_t>(buffer_.size(), offset - at_));
      file_.read(at_, bytes);
      sha_.add(bytes);
      at_ += bytes.size();
    }
  }
  [[nodiscard]] std::string finish() {
    advance_to(file_.bytes());
    return sha_.finish();
  }

 private:
  const io::InputFile& file_;
  std::vector<std::byte> buffer_;
  uint64_t at_ = 0;
  Sha256 sha_;
};

/// Fills a piece of a segment's memory with what the extent has of it, and zeros.
void read_piece(const io::InputFile& file, const Extent& extent, const format::PieceCut& cut,
                std::vector<std::byte>& piece) {
  const uint64_t begin = std::max(extent.memory_offset, cut.memory_offset());
  const uint64_t end =
      std::min(extent.memory_offset + extent.bytes, cut.memory_offset() + cut.bytes());
  SLUICE_CHECK(begin < end);
  piece.assign(cut.bytes(), std::byte{});
  file.read(extent.offset + begin - extent.memory_offset,
            std::span(piece).subspan(begin - cut.memory_offset(), end - begin));
}

/// The packs of one shard while they are written, by volume.
class ShardWriter {
 public:
  ShardWriter(const ShardJob& job, std::span<const PackVolume> volumes)
      : job_(job), volumes_(volumes), writers_(volumes.size()) {}

  /// `holders`: the volumes of each piece.
  void begin_segment(const format::Segment& segment, format::Codec codec,
                     std::span<const PackPiece> pieces,
                     std::span<const std::vector<uint32_t>> holders) {
    std::vector<format::PieceCut> held;
    for (uint32_t v = 0; v < volumes_.size(); ++v) {
      held.clear();
      for (size_t p = 0; p < pieces.size(); ++p) {
        if (std::ranges::find(holders[p], v) != holders[p].end()) held.push_back(pieces[p].cut);
      }
      if (!held.empty()) writer(v).begin_segment(segment, codec, held);
    }
  }

  void add_piece(std::span<const std::byte> bytes, bool encode, std::span<const uint32_t> holders) {
    for (const uint32_t v : holders) writers_[v]->add_piece(bytes, encode);
  }

  /// Verifies the packs of all volumes at once, since each drive reads its own.
  void finish(ShardPacks& out) {
    std::vector<std::future<PackResult>> results(volumes_.size());
    for (uint32_t v = 0; v < volumes_.size(); ++v) {
      if (writers_[v] == nullptr) continue;
      results[v] =
          std::async(std::launch::async, [&writer = *writers_[v]] { return writer.finish(); });
    }
    for (uint32_t v = 0; v < volumes_.size(); ++v) {
      if (writers_[v] == nullptr) continue;
      const PackResult result = results[v].get();
      out.stored_bytes += result.stored_bytes;
      out.packs.push_back({.file = format::pack_file_name(job_.name),
                           .volume = volumes_[v].file.id,
                           .shard = job_.shard,
                           .bytes = result.bytes,
                           .index_checksum = result.index_checksum});
    }
  }

 private:
  PackWriter& writer(uint32_t v) {
    if (writers_[v] == nullptr) {
      writers_[v] = std::make_unique<PackWriter>(
          volumes_[v].folder / format::pack_file_name(job_.name),
          format::PackFacts{
              .model = volumes_[v].file.model, .volume = volumes_[v].file.id, .shard = job_.shard});
    }
    return *writers_[v];
  }

  const ShardJob& job_;
  const std::span<const PackVolume> volumes_;
  std::vector<std::unique_ptr<PackWriter>> writers_;  // Null where nothing lies.
};

const Extent& extent_of(const format::Segment& segment, ShardId shard,
                        const format::PieceCut& cut) {
  const auto extent = std::ranges::find_if(segment.extents, [&](const Extent& e) {
    return e.shard == shard && e.memory_offset < cut.memory_offset() + cut.bytes() &&
           cut.memory_offset() < e.memory_offset + e.bytes;
  });
  SLUICE_CHECK(extent != segment.extents.end());
  return *extent;
}

void check_sum(const ShardJob& job, const std::string& sha256) {
  if (job.sha256.empty() || job.sha256 == sha256) return;
  throw Error(ErrorCode::kCorrupt,
              "{}: its SHA-256 is {}, but {} says {}: the file is damaged; fetch it anew",
              job.source.string(), sha256, job.sha256_origin, job.sha256);
}

}  // namespace

ShardPacks write_shard_packs(const ShardJob& job, const ShardLayout& layout,
                             format::PieceDealer& dealer, std::span<const PackVolume> volumes,
                             const std::function<void(uint64_t)>& read,
                             const std::atomic<bool>& stop) {
  const io::InputFile file(job.source.string());
  if (file.bytes() != job.bytes) {
    throw Error(ErrorCode::kCorrupt, "{}: has {} bytes instead of {}; fetch it anew",
                job.source.string(), file.bytes(), job.bytes);
  }
  FollowingHash hash(file);
  ShardWriter writer(job, volumes);
  std::vector<std::byte> piece;
  std::vector<std::vector<uint32_t>> holders;
  uint64_t reported = 0;
  for (const uint32_t index : layout.of_shard(job.shard)) {
    if (stop) {
      throw Error(ErrorCode::kCancelled, "stopped; the same command goes on where it was");
    }
    const format::Segment& segment = layout.segment(index);
    const std::vector<PackPiece> pieces = layout.pieces(index, job.shard, job.codec);
    hash.advance_to(layout.first_byte(index, job.shard));
    if (read) read(std::exchange(reported, 0));
    holders.clear();
    for (const PackPiece& p : pieces) {
      const std::span<const uint32_t> dealt = dealer.deal(p.cut.bytes());
      SLUICE_CHECK(!dealt.empty());  // The plan has dealt the same pieces.
      holders.emplace_back(dealt.begin(), dealt.end());
    }
    const bool coded = std::ranges::any_of(
        pieces, [](const PackPiece& p) { return p.codec != format::Codec::kRaw; });
    writer.begin_segment(segment, coded ? job.codec : format::Codec::kRaw, pieces, holders);
    for (size_t p = 0; p < pieces.size(); ++p) {
      const Extent& extent = extent_of(segment, job.shard, pieces[p].cut);
      read_piece(file, extent, pieces[p].cut, piece);
      writer.add_piece(piece, pieces[p].codec != format::Codec::kRaw, holders[p]);
    }
    for (const Extent& extent : segment.extents) {
      if (extent.shard == job.shard) reported += extent.bytes;
    }
  }
  ShardPacks packs{.sha256 = hash.finish(), .stored_bytes = 0, .packs = {}};
  check_sum(job, packs.sha256);
  writer.finish(packs);
  if (read) read(reported);
  return packs;
}

}  // namespace sluice::model
