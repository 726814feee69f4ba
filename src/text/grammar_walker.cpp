#include "text/grammar_walker.h"

#include "base/check.h"

#include <algorithm>

namespace sluice::text {

using Edge = ByteGrammar::Edge;

bool GrammarState::may_end() const {
  return std::any_of(stacks.begin(), stacks.end(), [](const auto& stack) { return stack.empty(); });
}

size_t GrammarWalker::ConfigsHash::operator()(const std::vector<ConfigId>& configs) const {
  uint64_t hash = configs.size();
  for (const ConfigId config : configs) {
    hash = (hash ^ config) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

GrammarWalker::GrammarWalker(const ByteGrammar& grammar) : grammar_(grammar) { forget(); }

void GrammarWalker::forget() {
  configs_ = {{.node = 0, .below = kEnd, .depth = 0}};
  config_ids_.clear();
  visited_in_ = {0};
  set_ = 0;
  states_.clear();
  state_ids_.clear();
  rows_.clear();
  begin_set();
  SLUICE_CHECK(intern_state() == kDead);
}

GrammarState GrammarWalker::start() {
  GrammarState state;
  for (const ByteGrammar::NodeId node : grammar_.starts(grammar_.root())) {
    if (fits(node, 1)) state.stacks.push_back({node});
  }
  return advance(state, "");
}

GrammarState GrammarWalker::advance(const GrammarState& state, std::string_view bytes) {
  StateId id = enter(state);
  for (const char byte : bytes) id = step(id, static_cast<uint8_t>(byte));
  GrammarState after;
  for (ConfigId config : *states_[id]) {
    std::vector<ByteGrammar::NodeId> stack;
    for (; config != kEnd; config = configs_[config].below) stack.push_back(configs_[config].node);
    std::reverse(stack.begin(), stack.end());
    after.stacks.push_back(std::move(stack));
  }
  return after;
}

GrammarWalker::StateId GrammarWalker::enter(const GrammarState& state) {
  if (configs_.size() > kConfigsMax) forget();
  begin_set();
  for (const auto& stack : state.stacks) {
    ConfigId config = kEnd;
    for (const ByteGrammar::NodeId node : stack) config = intern(node, config);
    visit(config);
    expand();
  }
  return intern_state();
}

GrammarWalker::ConfigId GrammarWalker::intern(ByteGrammar::NodeId node, ConfigId below) {
  const auto [entry, is_new] =
      config_ids_.try_emplace(uint64_t{node} << 32 | below, static_cast<ConfigId>(configs_.size()));
  if (is_new) {
    configs_.push_back({node, below, configs_[below].depth + 1});
    visited_in_.push_back(0);
  }
  return entry->second;
}

GrammarWalker::StateId GrammarWalker::intern_state() {
  const auto [entry, is_new] = state_ids_.try_emplace(found_, static_cast<StateId>(states_.size()));
  if (is_new) {
    states_.push_back(&entry->first);
    if (rows_.size() < kRowsMax) rows_.emplace_back().fill(kUnknown);
  }
  return entry->second;
}

GrammarWalker::StateId GrammarWalker::find_step(StateId state, uint8_t byte) {
  begin_set();
  for (const ConfigId id : *states_[state]) {
    if (id == kEnd) continue;
    const Config config = configs_[id];
    for (const Edge& edge : grammar_.node(config.node).edges) {
      if (edge.kind != Edge::Kind::kBytes || byte < edge.first || byte > edge.last) continue;
      if (fits(edge.target, config.depth)) visit(intern(edge.target, config.below));
    }
    expand();
  }
  return intern_state();
}

void GrammarWalker::begin_set() {
  ++set_;
  to_visit_.clear();
  found_.clear();
}

void GrammarWalker::visit(ConfigId config) {
  if (visited_in_[config] == set_) return;
  visited_in_[config] = set_;
  to_visit_.push_back(config);
}

// Whether a rule that is `depth` calls deep can go on to `node` and still end.
bool GrammarWalker::fits(ByteGrammar::NodeId node, uint32_t depth) const {
  const uint32_t cost = grammar_.node(node).cost;
  return cost < ByteGrammar::kDepthMax && depth + cost <= ByteGrammar::kDepthMax;
}

// Moves what has to be visited into the set, with all that is reached from there without a byte.
void GrammarWalker::expand() {
  while (!to_visit_.empty()) {
    const ConfigId id = to_visit_.back();
    to_visit_.pop_back();
    if (id == kEnd) {
      found_.push_back(id);
      continue;
    }
    const Config config = configs_[id];
    const ByteGrammar::Node& node = grammar_.node(config.node);
    if (node.accepts) visit(config.below);
    bool takes_bytes = false;
    for (const Edge& edge : node.edges) {
      if (edge.kind == Edge::Kind::kBytes) {
        takes_bytes = true;
      } else if (!fits(edge.target, config.depth)) {
        continue;
      } else if (edge.kind == Edge::Kind::kEmpty) {
        visit(intern(edge.target, config.below));
      } else {
        expand_call(edge, config.below, config.depth);
      }
    }
    if (takes_bytes && found_.size() < kStacksMax) found_.push_back(id);
  }
}

void GrammarWalker::expand_call(const Edge& edge, ConfigId below, uint32_t depth) {
  // A rule that has nothing left to do leaves the stack before it calls.
  const ByteGrammar::Node& after = grammar_.node(edge.target);
  const bool is_last = after.accepts && after.edges.empty();
  const ConfigId back = is_last ? below : intern(edge.target, below);
  const uint32_t callee_depth = is_last ? depth : depth + 1;
  for (const ByteGrammar::NodeId start : grammar_.starts(edge.rule)) {
    if (fits(start, callee_depth)) visit(intern(start, back));
  }
}

}  // namespace sluice::text
