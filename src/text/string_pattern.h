#pragma once
#include "text/char_set.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// A language of strings: a nondeterministic automaton over characters.
struct CharAutomaton {
  static constexpr uint32_t kEmpty = UINT32_MAX;
  struct Edge {
    uint32_t set;  ///< Index in `sets`: one character of it; kEmpty: none.
    uint32_t target;
  };
  std::vector<CharSet> sets;
  std::vector<std::vector<Edge>> states;
  uint32_t start = 0, end = 0;
};

/// The strings in which a regular expression of ECMA-262 matches somewhere. Has literals, ".",
/// classes, \d \w \s and their opposites, groups, alternatives, quantifiers, and anchors where a
/// whole alternative begins or ends. Throws Error(kInvalidInput) that begins with `path` for what
/// is not regular or not here: references, lookaround, word boundaries, Unicode properties.
[[nodiscard]] CharAutomaton parse_pattern(std::string_view pattern, const std::string& path);

/// The pattern of a format of JSON schema: date, time, date-time, uuid, email, ipv4. Empty for
/// others.
[[nodiscard]] std::string_view format_pattern(std::string_view format);

}  // namespace sluice::text
