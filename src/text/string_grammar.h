#pragma once
#include "text/char_set.h"
#include "text/string_pattern.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::text {

/// Adds strings to a grammar, all in one form. What strings have in common is added once.
class StringGrammar {
 public:
  StringGrammar(ByteGrammar& grammar, StringForm form) : grammar_(grammar), form_(form) {}

  struct Lengths {
    uint32_t least = 0;
    std::optional<uint32_t> most{};
  };

  /// Adds strings of `lengths` characters as starts of `rule`.
  void add_any(ByteGrammar::RuleId rule, const Lengths& lengths);

  /// Those of them that `automaton` accepts.
  void add_matching(ByteGrammar::RuleId rule, const CharAutomaton& automaton,
                    const Lengths& lengths);

  /// Adds texts, such as constants, that have their final form.
  void add_texts(ByteGrammar::RuleId rule, std::span<const std::string> texts);

  /// Adds the strings but `names` behind `from`, none with an escape, since an escape could spell a
  /// name in another way. Returns the node behind their closing quote.
  ByteGrammar::NodeId add_other_names(ByteGrammar::NodeId from, std::span<const std::string> names);

 private:
  ByteGrammar::NodeId open(ByteGrammar::RuleId rule);
  void close(ByteGrammar::NodeId node);
  ByteGrammar::RuleId character(const CharSet& set);

  ByteGrammar& grammar_;
  const StringForm form_;
  std::optional<ByteGrammar::RuleId> any_character_;
};

}  // namespace sluice::text
