#pragma once
#include "text/byte_grammar.h"

#include <cstdint>
#include <vector>

namespace sluice::text {

/// A set of Unicode scalars.
class CharSet {
 public:
  struct Range {
    char32_t first, last;
    friend auto operator<=>(const Range&, const Range&) = default;
  };

  /// No scalar, and every one.
  CharSet() = default;
  static CharSet all();

  void add(char32_t first, char32_t last) { ranges_.push_back({first, last}); }
  void add(const CharSet& other);
  [[nodiscard]] CharSet complement() const;

  /// Ascending, apart from each other, without surrogates.
  [[nodiscard]] std::vector<Range> ranges() const;

 private:
  std::vector<Range> ranges_;  // As added.
};

/// How the characters of a string are written.
enum class StringForm : uint8_t {
  kJson,  ///< Between quotes, with JSON's escapes.
  kRaw,   ///< As they are.
};

/// Adds every spelling of one character of `set` in UTF-8 between the two nodes, which may be one.
/// Those of kJson include each escape that JSON has for it.
void add_character(ByteGrammar& grammar, ByteGrammar::NodeId from, const CharSet& set,
                   StringForm form, ByteGrammar::NodeId target);

}  // namespace sluice::text
