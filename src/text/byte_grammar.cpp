#include "text/byte_grammar.h"

#include "base/error.h"

#include <algorithm>

namespace sluice::text {

ByteGrammar::NodeId ByteGrammar::add_node() {
  if (nodes_.size() == kNodesMax) {
    throw Error(ErrorCode::kInvalidInput,
                "the schema needs more than {} states; shorten its lists, lengths and patterns",
                kNodesMax);
  }
  nodes_.emplace_back();
  return static_cast<NodeId>(nodes_.size() - 1);
}

void ByteGrammar::add_bytes(NodeId from, uint8_t first, uint8_t last, NodeId target) {
  nodes_[from].edges.push_back(
      {.kind = Edge::Kind::kBytes, .first = first, .last = last, .rule = 0, .target = target});
}

void ByteGrammar::add_empty(NodeId from, NodeId target) {
  nodes_[from].edges.push_back(
      {.kind = Edge::Kind::kEmpty, .first = 0, .last = 0, .rule = 0, .target = target});
}

void ByteGrammar::add_call(NodeId from, RuleId rule, NodeId target) {
  nodes_[from].edges.push_back(
      {.kind = Edge::Kind::kCall, .first = 0, .last = 0, .rule = rule, .target = target});
}

ByteGrammar::NodeId ByteGrammar::add_text(NodeId from, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    const NodeId next = add_node();
    add_bytes(from, byte, byte, next);
    from = next;
  }
  return from;
}

ByteGrammar::RuleId ByteGrammar::add_rule() {
  rules_.emplace_back();
  return static_cast<RuleId>(rules_.size() - 1);
}

void ByteGrammar::seal(RuleId root) {
  root_ = root;
  collect_starts();
  find_costs();
}

void ByteGrammar::collect_starts() {
  std::vector<std::vector<NodeId>> all(rules_.size());
  for (RuleId rule = 0; rule < rules_.size(); ++rule) {
    std::vector<RuleId> reached = {rule};
    std::vector<bool> seen(rules_.size(), false);
    seen[rule] = true;
    for (size_t i = 0; i < reached.size(); ++i) {
      const Rule& from = rules_[reached[i]];
      all[rule].insert(all[rule].end(), from.starts.begin(), from.starts.end());
      for (const RuleId other : from.alternatives) {
        if (!seen[other]) reached.push_back(other);
        seen[other] = true;
      }
    }
  }
  for (RuleId rule = 0; rule < rules_.size(); ++rule) rules_[rule].starts = std::move(all[rule]);
}

// The least fixed point, from above. Edges lead mostly forwards, so going backwards takes few
// rounds.
void ByteGrammar::find_costs() {
  for (Node& node : nodes_) node.cost = node.accepts ? 0 : kNever;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      uint32_t cost = node->cost;
      for (const Edge& edge : node->edges) {
        const uint32_t call = edge.kind == Edge::Kind::kCall ? rules_[edge.rule].cost : 0;
        cost = std::min(cost, std::max(call, nodes_[edge.target].cost));
      }
      changed = changed || cost != node->cost;
      node->cost = cost;
    }
    for (Rule& rule : rules_) {
      uint32_t cost = kNever;
      for (const NodeId start : rule.starts) cost = std::min(cost, nodes_[start].cost);
      // One more than the calls inside: its own.
      cost = cost < kDepthMax ? cost + 1 : kNever;
      changed = changed || cost != rule.cost;
      rule.cost = cost;
    }
  }
}

}  // namespace sluice::text
