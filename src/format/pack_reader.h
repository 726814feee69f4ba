#pragma once
#include "format/pack.h"
#include "format/piece_decoder.h"
#include "io/input_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice::format {

/// Reads header and index. Throws as parse_pack() does, kNotFound, and kIo.
[[nodiscard]] Pack read_pack(const std::string& path);

/// Reads pieces of one pack, around the page cache where the file system allows that, checks and
/// decodes them. One thread.
class PieceReader {
 public:
  /// Throws Error as io::InputFile does.
  explicit PieceReader(const std::string& path);

  /// `piece_bytes`: in memory, at most kPackedPieceBytesMax. Empty, or what is wrong with this
  /// copy, naming its bytes in the file.
  [[nodiscard]] std::string read(const Holder& holder, uint64_t piece_bytes);
  /// What was read last and found good; valid until the next read.
  [[nodiscard]] std::span<const std::byte> piece() const { return piece_; }

 private:
  std::string read_blocks(uint64_t offset, std::span<std::byte> into);

  io::InputFile file_;
  PieceDecoder decoder_;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_;  // Whole blocks.
  uint64_t memory_bytes_ = 0;
  std::span<std::byte> piece_;
};

/// Reads every piece, around the page cache where the file system allows that, and checks and
/// decodes it. `visit` learns of each in the order of the file: its segment, itself, and what is
/// wrong with it, naming its bytes in the file; empty when nothing is. Throws Error when the file
/// cannot be opened.
void check_pieces(const std::string& path, const Pack& pack,
                  const std::function<void(const StoredSegment& segment, const StoredPiece& piece,
                                           std::string_view trouble)>& visit);

}  // namespace sluice::format
