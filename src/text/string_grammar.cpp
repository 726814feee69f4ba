#include "text/string_grammar.h"

#include "text/utf8.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace sluice::text {
namespace {

using NodeId = ByteGrammar::NodeId;
using RuleId = ByteGrammar::RuleId;

// What JSON strings hold without an escape.
CharSet plain_characters() {
  CharSet set;
  set.add(0, 0x1F);
  set.add('"', '"');
  set.add('\\', '\\');
  return set.complement();
}

std::vector<char32_t> scalars_of(std::string_view text) {
  std::vector<char32_t> scalars;
  while (!text.empty()) {
    const Utf8Step step = first_scalar(text);
    scalars.push_back(step.scalar);
    text.remove_prefix(step.length);
  }
  return scalars;
}

// Where an automaton is, and how many characters it has read.
using Place = std::pair<uint32_t, uint32_t>;

}  // namespace

NodeId StringGrammar::open(RuleId rule) {
  const NodeId start = grammar_.add_node();
  grammar_.add_start(rule, start);
  return form_ == StringForm::kJson ? grammar_.add_text(start, "\"") : start;
}

void StringGrammar::close(NodeId node) {
  if (form_ == StringForm::kJson) node = grammar_.add_text(node, "\"");
  grammar_.set_accepting(node);
}

RuleId StringGrammar::character(const CharSet& set) {
  const RuleId rule = grammar_.add_rule();
  const NodeId start = grammar_.add_node(), end = grammar_.add_node();
  grammar_.add_start(rule, start);
  grammar_.set_accepting(end);
  add_character(grammar_, start, set, form_, end);
  return rule;
}

void StringGrammar::add_any(RuleId rule, const Lengths& lengths) {
  NodeId node = open(rule);
  if (lengths.least > 0 || lengths.most) {
    if (!any_character_) any_character_ = character(CharSet::all());
    for (uint32_t length = 0; length < lengths.most.value_or(lengths.least); ++length) {
      if (length >= lengths.least) close(node);
      const NodeId next = grammar_.add_node();
      grammar_.add_call(node, *any_character_, next);
      node = next;
    }
  }
  if (!lengths.most) add_character(grammar_, node, CharSet::all(), form_, node);
  if (!lengths.most || lengths.least <= *lengths.most) close(node);
}

void StringGrammar::add_matching(RuleId rule, const CharAutomaton& automaton,
                                 const Lengths& lengths) {
  std::vector<RuleId> characters;
  for (const CharSet& set : automaton.sets) characters.push_back(character(set));
  std::map<Place, NodeId> nodes;
  std::vector<Place> reached = {{automaton.start, 0}};
  nodes[reached[0]] = open(rule);
  const auto node_at = [&](const Place& place) {
    const auto [entry, is_new] = nodes.try_emplace(place, 0);
    if (is_new) {
      entry->second = grammar_.add_node();
      reached.push_back(place);
    }
    return entry->second;
  };
  for (size_t i = 0; i < reached.size(); ++i) {
    const auto [state, length] = reached[i];
    const NodeId node = nodes[reached[i]];
    if (state == automaton.end && length >= lengths.least) close(node);
    for (const CharAutomaton::Edge& edge : automaton.states[state]) {
      if (edge.set == CharAutomaton::kEmpty) {
        grammar_.add_empty(node, node_at({edge.target, length}));
      } else if (!lengths.most) {
        // Without an upper limit only those up to the lower one are told apart.
        const uint32_t next = std::min(length + 1, lengths.least);
        grammar_.add_call(node, characters[edge.set], node_at({edge.target, next}));
      } else if (length < *lengths.most) {
        grammar_.add_call(node, characters[edge.set], node_at({edge.target, length + 1}));
      }
    }
  }
}

void StringGrammar::add_texts(RuleId rule, std::span<const std::string> texts) {
  const NodeId start = grammar_.add_node();
  grammar_.add_start(rule, start);
  std::map<std::pair<NodeId, uint8_t>, NodeId> children;
  for (const std::string& text : texts) {
    NodeId node = start;
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      const auto [entry, is_new] = children.try_emplace({node, byte}, 0);
      if (is_new) {
        entry->second = grammar_.add_node();
        grammar_.add_bytes(node, byte, byte, entry->second);
      }
      node = entry->second;
    }
    grammar_.set_accepting(node);
  }
}

NodeId StringGrammar::add_other_names(NodeId from, std::span<const std::string> names) {
  struct Branch {
    std::map<char32_t, NodeId> children;
    bool is_name = false;
  };
  const CharSet plain = plain_characters();
  const NodeId begin = grammar_.add_text(from, "\""), end = grammar_.add_node();
  std::map<NodeId, Branch> branches;
  branches[begin];
  for (const std::string& name : names) {
    NodeId node = begin;
    for (const char32_t scalar : scalars_of(name)) {
      const auto [entry, is_new] = branches[node].children.try_emplace(scalar, 0);
      if (is_new) entry->second = grammar_.add_node();
      node = entry->second;
    }
    branches[node].is_name = true;
  }
  const NodeId other = grammar_.add_node();
  add_character(grammar_, other, plain, StringForm::kRaw, other);
  grammar_.add_bytes(other, '"', '"', end);
  for (const auto& [node, branch] : branches) {
    CharSet others = plain.complement();
    for (const auto& [scalar, child] : branch.children) {
      others.add(scalar, scalar);
      const bool is_plain = scalar >= 0x20 && scalar != '"' && scalar != '\\';
      CharSet one;
      one.add(scalar, scalar);
      if (is_plain) add_character(grammar_, node, one, StringForm::kRaw, child);
    }
    add_character(grammar_, node, others.complement(), StringForm::kRaw, other);
    if (!branch.is_name) grammar_.add_bytes(node, '"', '"', end);
  }
  return end;
}

}  // namespace sluice::text
