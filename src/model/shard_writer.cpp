#include "model/shard_writer.h"

#include "base/check.h"

#include <algorithm>
#include <future>
#include <utility>

namespace sluice::model {
namespace {

using format::PackResult;
using format::PackWriter;

// What a pack needs besides its pieces: the header, and at most this much of the index for each
// segment and each piece.
constexpr uint64_t kSegmentIndexBytes = 128, kPieceIndexBytes = 48;

}  // namespace

PackNeed pack_need(const ShardLayout& layout, ShardId shard) {
  PackNeed need{.overhead_bytes = 2 * format::kPackHeaderBytes};  // And the index is rounded up.
  for (const uint32_t index : layout.of_shard(shard)) {
    need.overhead_bytes += kSegmentIndexBytes;
    for (const PackPiece& piece : layout.pieces(index, shard, format::Codec::kRaw)) {
      need.piece_bytes += piece.cut.bytes();
      need.overhead_bytes += kPieceIndexBytes;
    }
  }
  return need;
}

ShardWriter::ShardWriter(std::vector<PackDestination> destinations)
    : destinations_(std::move(destinations)), writers_(destinations_.size()) {}

PackWriter& ShardWriter::writer(uint32_t destination) {
  std::unique_ptr<PackWriter>& writer = writers_[destination];
  if (writer == nullptr) {
    const PackDestination& to = destinations_[destination];
    writer = std::make_unique<PackWriter>(to.folder / to.file, to.facts);
  }
  return *writer;
}

void ShardWriter::add_segment(const format::Segment& segment, std::span<const PackPiece> pieces,
                              std::span<const std::vector<uint32_t>> holders,
                              const ReadShard& read) {
  format::Codec codec = format::Codec::kRaw;
  for (const PackPiece& piece : pieces) codec = std::max(codec, piece.codec);
  std::vector<format::PieceCut> held;
  for (uint32_t d = 0; d < destinations_.size(); ++d) {
    held.clear();
    for (size_t p = 0; p < pieces.size(); ++p) {
      if (std::ranges::find(holders[p], d) != holders[p].end()) held.push_back(pieces[p].cut);
    }
    if (!held.empty()) writer(d).begin_segment(segment, codec, held);
  }
  for (size_t p = 0; p < pieces.size(); ++p) {
    if (holders[p].empty()) continue;
    const ShardId shard = destinations_[holders[p].front()].facts.shard;
    const PieceBytes bytes = bytes_of(segment, shard, pieces[p].cut);
    piece_.assign(pieces[p].cut.bytes(), std::byte{});  // What no shard has is zero.
    read(bytes.offset, std::span(piece_).subspan(bytes.skip, bytes.bytes));
    const bool encode = pieces[p].codec != format::Codec::kRaw;
    for (const uint32_t d : holders[p]) writers_[d]->add_piece(piece_, encode);
  }
}

// All at once, since each drive reads its own.
WrittenPacks ShardWriter::finish() {
  std::vector<std::future<PackResult>> results(writers_.size());
  for (size_t d = 0; d < writers_.size(); ++d) {
    if (writers_[d] == nullptr) continue;
    results[d] =
        std::async(std::launch::async, [&writer = *writers_[d]] { return writer.finish(); });
  }
  WrittenPacks written;
  for (size_t d = 0; d < writers_.size(); ++d) {
    if (writers_[d] == nullptr) continue;
    const PackResult result = results[d].get();
    written.stored_bytes += result.stored_bytes;
    written.packs.push_back({.file = destinations_[d].file,
                             .volume = destinations_[d].facts.volume,
                             .shard = destinations_[d].facts.shard,
                             .bytes = result.bytes,
                             .index_checksum = result.index_checksum});
  }
  return written;
}

}  // namespace sluice::model
