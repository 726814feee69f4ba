#include "format/piece_decoder.h"

#include "base/check.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>
#if SLUICE_HAS_ZSTD
#include <zstd.h>
#endif

namespace sluice::format {

uint64_t piece_checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

#if SLUICE_HAS_ZSTD

struct PieceDecoder::Context {
  Context() : zstd(ZSTD_createDCtx()) { SLUICE_CHECK(zstd != nullptr); }
  ~Context() { ZSTD_freeDCtx(zstd); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] bool decode(std::span<const std::byte> frame, std::span<std::byte> into) const {
    return ZSTD_decompressDCtx(zstd, into.data(), into.size(), frame.data(), frame.size()) ==
           into.size();
  }

  ZSTD_DCtx* const zstd;
};

bool has_zstd() { return true; }

std::vector<std::byte> encode_piece(std::span<const std::byte> bytes) {
  constexpr int kLevel = 3;  // Scales have few repeats: higher levels find no more.
  std::vector<std::byte> frame(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  SLUICE_CHECK(ZSTD_isError(size) == 0);
  frame.resize(size < bytes.size() ? size : 0);
  return frame;
}

#else

struct PieceDecoder::Context {
  [[nodiscard]] static bool decode(std::span<const std::byte>, std::span<std::byte>) {
    return false;
  }
};

bool has_zstd() { return false; }
std::vector<std::byte> encode_piece(std::span<const std::byte>) { return {}; }

#endif

PieceDecoder::PieceDecoder() = default;
PieceDecoder::~PieceDecoder() = default;

PieceVerdict PieceDecoder::accept(const Holder& holder, std::span<std::byte> memory) {
  SLUICE_CHECK(holder.stored_bytes <= memory.size());
  const std::span<const std::byte> stored = memory.first(holder.stored_bytes);
  if (holder.checked && piece_checksum(stored) != holder.checksum) {
    return PieceVerdict::kWrongChecksum;
  }
  if (holder.codec == Codec::kRaw) return PieceVerdict::kGood;
  if (context_ == nullptr) context_ = std::make_unique<Context>();
  frame_.assign(stored.begin(), stored.end());  // The piece takes the place of its frame.
  return context_->decode(frame_, memory) ? PieceVerdict::kGood : PieceVerdict::kBrokenFrame;
}

}  // namespace sluice::format
