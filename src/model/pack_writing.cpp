#include "model/pack_writing.h"

#include "base/check.h"
#include "base/error.h"
#include "base/sha256.h"
#include "format/pack.h"
#include "io/input_file.h"

#include <algorithm>
#include <utility>

namespace sluice::model {
namespace {

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

void check_sum(const ShardJob& job, const std::string& sha256) {
  if (job.sha256.empty() || job.sha256 == sha256) return;
  throw Error(ErrorCode::kCorrupt,
              "{}: its SHA-256 is {}, but {} says {}: the file is damaged; fetch it anew",
              job.source.string(), sha256, job.sha256_origin, job.sha256);
}

std::vector<PackDestination> destinations_of(const ShardJob& job,
                                             std::span<const PackVolume> volumes) {
  std::vector<PackDestination> out;
  for (const PackVolume& volume : volumes) {
    out.push_back(
        {.folder = volume.folder,
         .file = format::pack_file_name(job.name),
         .facts = {.model = volume.file.model, .volume = volume.file.id, .shard = job.shard}});
  }
  return out;
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
  ShardWriter writer(destinations_of(job, volumes));
  const auto read_file = [&](uint64_t offset, std::span<std::byte> into) {
    file.read(offset, into);
  };
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
    for (const PackPiece& piece : pieces) {
      const std::span<const uint32_t> dealt = dealer.deal(piece.cut.bytes());
      SLUICE_CHECK(!dealt.empty());  // The plan has dealt the same pieces.
      holders.emplace_back(dealt.begin(), dealt.end());
    }
    writer.add_segment(segment, pieces, holders, read_file);
    for (const format::Extent& extent : segment.extents) {
      if (extent.shard == job.shard) reported += extent.bytes;
    }
  }
  ShardPacks packs{.sha256 = hash.finish(), .written = {}};
  check_sum(job, packs.sha256);
  packs.written = writer.finish();
  if (read) read(reported);
  return packs;
}

}  // namespace sluice::model
