#pragma once
#include "text/byte_grammar.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::text {

/// A place in a text of a grammar: every way in which the bytes so far may be understood. A value
/// that means the same to all walkers of the grammar.
struct GrammarState {
  /// Each from the outermost rule to the innermost; one without nodes means that the text may end
  /// here. None at all: the bytes so far begin no text.
  std::vector<std::vector<ByteGrammar::NodeId>> stacks;

  friend bool operator==(const GrammarState&, const GrammarState&) = default;
  [[nodiscard]] bool is_dead() const { return stacks.empty(); }
  [[nodiscard]] bool may_end() const;
};

/// Follows texts of a grammar byte by byte, and remembers the steps, so that many texts from one
/// state are cheap. From every state that is not dead some text can be completed: where there are
/// too many ways to understand a text, the last ones are given up, never the only one. Not
/// thread-safe.
class GrammarWalker {
 public:
  using StateId = uint32_t;
  static constexpr StateId kDead = 0;

  /// The grammar is sealed and must outlive this.
  explicit GrammarWalker(const ByteGrammar& grammar);

  [[nodiscard]] GrammarState start();
  /// `state` after `bytes`.
  [[nodiscard]] GrammarState advance(const GrammarState& state, std::string_view bytes);

  /// For many steps from one state: the ids that follow hold until the next enter().
  [[nodiscard]] StateId enter(const GrammarState& state);
  [[nodiscard]] StateId step(StateId state, uint8_t byte) {
    if (state >= rows_.size()) return find_step(state, byte);
    StateId& next = rows_[state][byte];
    if (next == kUnknown) {
      const StateId found = find_step(state, byte);  // May move the rows.
      rows_[state][byte] = found;
      return found;
    }
    return next;
  }

 private:
  using ConfigId = uint32_t;
  static constexpr StateId kUnknown = UINT32_MAX;
  static constexpr ConfigId kEnd = 0;  // The stack without nodes.
  static constexpr size_t kStacksMax = 256;
  static constexpr size_t kRowsMax = 16'384;      // States beyond have their steps found anew.
  static constexpr size_t kConfigsMax = 200'000;  // Beyond, all is forgotten at the next enter().

  // A stack: its innermost node and the stack below, which goes on when that node's rule has ended.
  struct Config {
    ByteGrammar::NodeId node;
    ConfigId below;
    uint32_t depth;
  };
  struct ConfigsHash {
    size_t operator()(const std::vector<ConfigId>& configs) const;
  };

  void forget();
  ConfigId intern(ByteGrammar::NodeId node, ConfigId below);
  StateId intern_state();
  StateId find_step(StateId state, uint8_t byte);
  void begin_set();
  void visit(ConfigId config);
  bool fits(ByteGrammar::NodeId node, uint32_t depth) const;
  void expand();
  void expand_call(const ByteGrammar::Edge& edge, ConfigId below, uint32_t depth);

  const ByteGrammar& grammar_;
  std::vector<Config> configs_;
  std::unordered_map<uint64_t, ConfigId> config_ids_;
  std::vector<const std::vector<ConfigId>*> states_;  // Keys of state_ids_, which do not move.
  std::unordered_map<std::vector<ConfigId>, StateId, ConfigsHash> state_ids_;
  std::vector<std::array<StateId, 256>> rows_;

  // The set of stacks that is being made.
  std::vector<ConfigId> to_visit_, found_;
  std::vector<uint32_t> visited_in_;  // By config: the number of the last set that it was met in.
  uint32_t set_ = 0;
};

}  // namespace sluice::text
