#pragma once
#include "format/placement.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::format {

/// XXH3-64, as packs store it. Finds accidental changes; it is no protection against intended ones.
[[nodiscard]] uint64_t piece_checksum(std::span<const std::byte> bytes);

/// The Zstandard frame of a piece; empty when it would not be shorter, or in a build without zstd.
[[nodiscard]] std::vector<std::byte> encode_piece(std::span<const std::byte> bytes);

enum class PieceVerdict : uint8_t {
  kGood,
  kWrongChecksum,  ///< What was read is not what was written.
  kBrokenFrame,    ///< The frame does not decode to the piece, though its checksum is right.
};

/// Checks what was read of a piece and decodes it in place. One thread.
class PieceDecoder {
 public:
  PieceDecoder();
  ~PieceDecoder();
  PieceDecoder(const PieceDecoder&) = delete;
  PieceDecoder& operator=(const PieceDecoder&) = delete;

  /// `memory`: [piece bytes], whose first holder.stored_bytes were read. When kGood it holds the
  /// piece, else anything.
  [[nodiscard]] PieceVerdict accept(const Holder& holder, std::span<std::byte> memory);

 private:
  struct Context;
  std::unique_ptr<Context> context_;  // Made when the first frame comes.
  std::vector<std::byte> frame_;
};

/// Whether this build can decode Codec::kZstd.
[[nodiscard]] bool has_zstd();

}  // namespace sluice::format
