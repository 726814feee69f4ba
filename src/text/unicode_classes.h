#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::text {

/// What the pre-tokenizer asks of a scalar; the bits of UnicodeClasses::of(). kUpper and kLower are
/// the two letter classes of K3's pattern, [Lu Lt Lm Lo M] and [Ll Lm Lo M], each without Han; Lm,
/// Lo and M are in both.
enum CharacterClass : uint8_t {
  kHan = 1 << 0,  ///< Script=Han.
  kUpper = 1 << 1,
  kLower = 1 << 2,
  kLetter = 1 << 3,   ///< \p{L}, Han included, marks excluded.
  kNumber = 1 << 4,   ///< \p{N}.
  kSpace = 1 << 5,    ///< White_Space, the \s of the pattern.
  kNewline = 1 << 6,  ///< CR and LF.
};

/// The runs that UnicodeClasses is made of: scalar << 8 | bits, ascending; a run ends where the
/// next begins.
[[nodiscard]] std::span<const uint32_t> unicode_class_runs();

/// Maps each Unicode scalar to its CharacterClass bits. Immutable; any thread.
class UnicodeClasses {
 public:
  UnicodeClasses();

  /// `scalar` <= 0x10FFFF.
  [[nodiscard]] uint8_t of(char32_t scalar) const {
    return pages_[page_of_[scalar / kPage] * kPage + scalar % kPage];
  }

 private:
  static constexpr uint32_t kPage = 128;
  std::array<uint16_t, 0x110000 / kPage> page_of_{};
  std::vector<uint8_t> pages_;
};

/// Python's str.isspace(): White_Space and U+001C to U+001F.
[[nodiscard]] constexpr bool is_python_space(char32_t scalar, uint8_t bits) {
  return (bits & kSpace) != 0 || (scalar >= 0x1C && scalar <= 0x1F);
}

/// The one table, built at the first call.
[[nodiscard]] const UnicodeClasses& unicode_classes();

/// Whether nothing is left of `text`, UTF-8, after Python's str.strip().
[[nodiscard]] bool is_python_blank(std::string_view text);

}  // namespace sluice::text
