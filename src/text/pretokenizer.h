#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::text {

/// Where text is cut before it is tokenised, as the published tokenizer does it.
struct ChunkLimits {
  size_t slice_scalars = 400'000;  ///< Scalars of a slice.
  size_t run_scalars = 25'000;     ///< Consecutive scalars that are all space or all not space.
};

/// Text as its scalars, for a scanner that looks back and ahead.
struct ScalarText {
  std::string_view bytes;         ///< Well-formed UTF-8, less than 4 GiB.
  std::vector<uint8_t> classes;   ///< [scalars], CharacterClass bits.
  std::vector<uint32_t> offsets;  ///< [scalars + 1], bytes; the last is bytes.size().

  /// The bytes of scalars [begin, end).
  [[nodiscard]] std::string_view slice(size_t begin, size_t end) const {
    return bytes.substr(offsets[begin], offsets[end] - offsets[begin]);
  }
};

/// Cuts `text` in chunks that are tokenised one by one; appends them to `chunks`. Throws
/// Error(kInvalidInput) with the byte offset where it is not well-formed UTF-8.
void split_chunks(std::string_view text, const ChunkLimits& limits,
                  std::vector<std::string_view>& chunks);

/// Makes `out` describe `text`, which must be well-formed; the vectors keep their memory.
void read_scalars(std::string_view text, ScalarText& out);

/// The end, in scalars, of the piece of K3's pattern that begins at scalar `begin`, which is below
/// text.classes.size(). Never returns `begin`.
[[nodiscard]] size_t piece_end(const ScalarText& text, size_t begin);

}  // namespace sluice::text
