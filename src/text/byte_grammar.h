#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sluice::text {

/// A language of byte strings: rules that call each other, each a nondeterministic automaton over
/// bytes. First built, then sealed, then followed by a GrammarWalker. Immutable once sealed; any
/// thread may then read it.
class ByteGrammar {
 public:
  using NodeId = uint32_t;
  using RuleId = uint32_t;

  struct Edge {
    enum class Kind : uint8_t { kBytes, kEmpty, kCall };
    Kind kind;
    uint8_t first, last;  ///< Of kBytes: any byte of [first, last].
    RuleId rule;          ///< Of kCall: a text of this rule stands here.
    NodeId target;
  };

  struct Node {
    std::vector<Edge> edges;
    bool accepts = false;  ///< A text of the rule may end here.
    uint32_t cost = 0;     ///< Set by seal(): how deep calls have to nest from here to an end.
  };

  /// Bounds of memory and of nesting: a grammar of more nodes is refused, and deeper calls are not
  /// made, so every text is nested less deeply than common JSON parsers allow.
  static constexpr uint32_t kNodesMax = 150'000;
  static constexpr uint32_t kDepthMax = 100;
  static constexpr uint32_t kNever = UINT32_MAX;  ///< The cost of what cannot end.

  /// Throws Error(kInvalidInput) beyond kNodesMax.
  NodeId add_node();
  void add_bytes(NodeId from, uint8_t first, uint8_t last, NodeId target);
  void add_empty(NodeId from, NodeId target);
  void add_call(NodeId from, RuleId rule, NodeId target);
  /// Adds the bytes of `text` one after the other. Returns the node behind them.
  NodeId add_text(NodeId from, std::string_view text);
  void set_accepting(NodeId node) { nodes_[node].accepts = true; }

  /// A rule that has no texts yet.
  RuleId add_rule();
  /// Texts of `rule` may begin at `start`.
  void add_start(RuleId rule, NodeId start) { rules_[rule].starts.push_back(start); }
  /// Texts of `other` are texts of `rule`. Rules may be so related in cycles.
  void add_alternative(RuleId rule, RuleId other) { rules_[rule].alternatives.push_back(other); }

  /// Ends the building; the language is that of `root`.
  void seal(RuleId root);

  /// Whether some text of the rule is nested no deeper than kDepthMax. After seal().
  [[nodiscard]] bool has_text(RuleId rule) const { return rules_[rule].cost != kNever; }

  [[nodiscard]] RuleId root() const { return root_; }
  [[nodiscard]] const Node& node(NodeId id) const { return nodes_[id]; }
  [[nodiscard]] const std::vector<NodeId>& starts(RuleId rule) const { return rules_[rule].starts; }
  [[nodiscard]] uint32_t rule_count() const { return static_cast<uint32_t>(rules_.size()); }

 private:
  struct Rule {
    std::vector<NodeId> starts;
    std::vector<RuleId> alternatives;
    uint32_t cost = kNever;
  };

  void collect_starts();
  void find_costs();

  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  RuleId root_ = 0;
};

}  // namespace sluice::text
