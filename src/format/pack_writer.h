#pragma once
#include "format/output_file.h"
#include "format/pack.h"
#include "format/piece_decoder.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// What the manifest says of a finished pack.
struct PackResult {
  uint64_t bytes = 0;  ///< Of the file; holes count.
  uint64_t index_checksum = 0;
  uint64_t stored_bytes = 0;  ///< Of all pieces, as they are stored.
  uint64_t piece_bytes = 0;   ///< Of all pieces, in memory.
};

/// Writes a pack that appears whole and verified, or not at all. Segments come in any order, the
/// held pieces of each in the order of its memory. Keeps the index and little else in memory. One
/// thread.
///
///   writer.begin_segment(segment, Codec::kRaw, cuts);
///   for (each of cuts) writer.add_piece(bytes);  // As they stand in the memory image.
///   ...
///   writer.finish();
class PackWriter {
 public:
  /// Throws Error(kIo), Error(kInvalidInput) as OutputFile does.
  PackWriter(const std::filesystem::path& path, const PackFacts& facts);

  /// `held`: the pieces that this pack gets, ascending and at least one; they lie inside extents.
  /// All pieces of the segment before must have been added.
  void begin_segment(const Segment& segment, Codec codec, std::span<const PieceCut> held);
  /// `bytes`: [the size of the next piece]; those outside its extent should be zero. With `encode`
  /// the segment's codec is used when it saves a block, and what it gives is decoded and compared.
  /// Throws Error(kIo).
  void add_piece(std::span<const std::byte> bytes, bool encode = true);
  /// Writes index and header, brings all to the disk, reads everything back, and gives the file its
  /// name. Throws Error(kIo), kCorrupt when what was read is not what was written; then the file
  /// never existed.
  PackResult finish();

 private:
  void check_frame(const StoredPiece& piece, std::span<const std::byte> frame,
                   std::span<const std::byte> bytes);
  void verify() const;

  OutputFile file_;
  PackHeader header_;
  std::vector<StoredSegment> segments_;
  size_t pieces_left_ = 0;  // Of the last segment.
  uint64_t end_ = kPackHeaderBytes;
  PieceDecoder decoder_;
  std::vector<std::byte> decoded_;
};

}  // namespace sluice::format
