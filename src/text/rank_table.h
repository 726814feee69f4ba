#pragma once
#include "base/types.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// The ordinary tokens of a vocabulary: token `rank` is a byte string, and a pair of tokens merges
/// earlier the lower the rank of its concatenation. Immutable; any thread.
class RankTable {
 public:
  /// Memory that encode_piece() uses anew for each piece; one per thread.
  struct Scratch {
    struct Merge {
      uint32_t rank, begin, end;  ///< Bytes [begin, end) of the piece would become token `rank`.
    };
    std::vector<uint32_t> next, previous, rank;
    std::vector<Merge> heap;
  };

  /// Reads lines of "base64(bytes) rank". Throws Error: kNotFound or kIo when the file cannot be
  /// read; kCorrupt, naming the line, unless the ranks are 0, 1, 2, ... in order, no token is empty
  /// or occurs twice, and each single byte is a token.
  explicit RankTable(const std::filesystem::path& file);

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(offsets_.size() - 1); }

  /// `rank` < size(). Lives as long as this.
  [[nodiscard]] std::string_view bytes(uint32_t rank) const {
    return std::string_view(arena_).substr(offsets_[rank], offsets_[rank + 1] - offsets_[rank]);
  }

  /// The rank of a token, or kNone.
  [[nodiscard]] uint32_t find(std::string_view token) const;

  /// Appends the tokens of one piece: itself when it is a token, else byte pair encoding, which
  /// merges the pair of lowest rank first, the leftmost on ties. `piece` is not empty. O(n log n).
  void encode_piece(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;

  static constexpr uint32_t kNone = UINT32_MAX;

 private:
  struct Slot {
    uint32_t rank = kNone;
    uint32_t hash = 0;  // Spares reading the arena for most wrong slots.
  };

  void add(std::string_view token, const std::filesystem::path& file);
  void push_merge(std::string_view piece, uint32_t begin, Scratch& scratch) const;

  std::string arena_;                    // All tokens, one after the other.
  std::vector<uint32_t> offsets_ = {0};  // [size + 1]
  std::vector<Slot> slots_;              // Open addressing; a power of two, at most half full.
  size_t longest_ = 0;                   // Bytes of the longest token.
  std::array<uint32_t, 256> byte_rank_{};
};

}  // namespace sluice::text
