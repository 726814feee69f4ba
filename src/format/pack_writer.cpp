#include "format/pack_writer.h"

#include "base/check.h"
#include "base/error.h"
#include "format/pack_reader.h"

#include <algorithm>

namespace sluice::format {

using io::kBlockBytes;

PackWriter::PackWriter(const std::filesystem::path& path, const PackFacts& facts) : file_(path) {
  header_.facts = facts;
  file_.skip(kPackHeaderBytes);  // The header comes last: without it nothing is a pack.
}

void PackWriter::begin_segment(const Segment& segment, Codec codec,
                               std::span<const PieceCut> held) {
  SLUICE_CHECK(pieces_left_ == 0 && !held.empty());
  StoredSegment& stored =
      segments_.emplace_back(StoredSegment{.layout = segment, .codec = codec, .held = {}});
  uint64_t held_bytes = 0;
  for (const PieceCut& cut : held) {
    SLUICE_CHECK(cut.blocks > 0 && cut.bytes() <= kPackedPieceBytesMax);
    stored.held.push_back({.memory_block = cut.memory_block, .blocks = cut.blocks});
    held_bytes += cut.bytes();
  }
  pieces_left_ = held.size();
  const uint64_t start = round_up(end_, segment_alignment(held_bytes));
  file_.skip(start - end_);
  end_ = start;
}

void PackWriter::add_piece(std::span<const std::byte> bytes, bool encode) {
  SLUICE_CHECK(pieces_left_ > 0);
  StoredSegment& segment = segments_.back();
  StoredPiece& piece = segment.held[segment.held.size() - pieces_left_--];
  SLUICE_CHECK(bytes.size() == piece.bytes());
  std::vector<std::byte> frame;
  if (encode && segment.codec == Codec::kZstd) frame = encode_piece(bytes);
  if (round_up(frame.size(), kBlockBytes) == bytes.size()) frame.clear();
  if (!frame.empty()) piece.codec = Codec::kZstd;
  const std::span<const std::byte> stored = frame.empty() ? bytes : std::span(frame);
  piece.stored_bytes = static_cast<uint32_t>(stored.size());
  piece.offset = end_;
  piece.checksum = piece_checksum(stored);
  if (!frame.empty()) check_frame(piece, frame, bytes);
  file_.write(stored);
  end_ = round_up(end_ + stored.size(), kBlockBytes);
  file_.skip(end_ - piece.offset - stored.size());
}

PackResult PackWriter::finish() {
  SLUICE_CHECK(pieces_left_ == 0);
  PackResult result;
  header_.segments = static_cast<uint32_t>(segments_.size());
  for (const StoredSegment& segment : segments_) {
    header_.extents += static_cast<uint32_t>(segment.layout.extents.size());
    header_.pieces += static_cast<uint32_t>(segment.held.size());
    for (const StoredPiece& piece : segment.held) {
      if (piece.codec == Codec::kZstd) header_.required_features |= kPackHasZstd;
      result.stored_bytes += piece.stored_bytes;
      result.piece_bytes += piece.bytes();
    }
  }
  const std::vector<std::byte> index = encode_pack_index(segments_);
  header_.index_offset = end_;
  header_.index_bytes = index.size();
  header_.index_checksum = piece_checksum(index);
  file_.write(index);
  file_.write_at(0, encode_pack_header(header_));
  file_.sync();
  verify();
  file_.commit();
  result.bytes = end_ + index.size();
  result.index_checksum = header_.index_checksum;
  return result;
}

// What does not decode to the same bytes must never take their place.
void PackWriter::check_frame(const StoredPiece& piece, std::span<const std::byte> frame,
                             std::span<const std::byte> bytes) {
  decoded_.assign(bytes.size(), std::byte{});
  std::ranges::copy(frame, decoded_.begin());
  SLUICE_CHECK(decoder_.accept(piece.holder(), decoded_) == PieceVerdict::kGood &&
               std::ranges::equal(decoded_, bytes));
}

void PackWriter::verify() const {
  const std::string path = file_.temporary().string();
  const auto differs = [&](std::string_view what) {
    throw Error(ErrorCode::kCorrupt,
                "{}: read back, {}: this drive does not keep what is written to it; check it, or "
                "choose another folder",
                path, what);
  };
  const Pack pack = read_pack(path);
  if (pack.header != header_) differs("the header is another");
  check_pieces(path, pack, [&](const StoredSegment&, const StoredPiece&, std::string_view trouble) {
    if (!trouble.empty()) differs(trouble);
  });
}

}  // namespace sluice::format
