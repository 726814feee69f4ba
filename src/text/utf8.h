#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::text {

/// The first character of some bytes.
struct Utf8Step {
  enum class Kind : uint8_t {
    kScalar,      ///< A well-formed scalar.
    kIllFormed,   ///< `length` bytes can never be part of one: a maximal ill-formed subpart.
    kIncomplete,  ///< All bytes are the beginning of one and more may complete it.
  };
  Kind kind;
  uint8_t length;   ///< Bytes that it takes, 1 to 4.
  char32_t scalar;  ///< Of kScalar only.
};

/// Reads the first character of `bytes`, which must not be empty. Well-formed is Unicode's table
/// 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] Utf8Step first_scalar(std::string_view bytes);

/// The offset of the first byte that is not well-formed UTF-8, or npos.
[[nodiscard]] size_t find_invalid_utf8(std::string_view bytes);

/// U+FFFD, which stands for what cannot be decoded.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace sluice::text
