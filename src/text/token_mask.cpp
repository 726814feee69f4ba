#include "text/token_mask.h"

#include <algorithm>
#include <string_view>

namespace sluice::text {

TokenTree::TokenTree(const Tokenizer& tokenizer) : vocab_size_(tokenizer.vocab_size()) {
  struct Entry {
    std::string_view bytes;
    TokenId id;
  };
  std::vector<Entry> entries;
  for (TokenId id{0}; id.value < static_cast<int32_t>(vocab_size_); ++id.value) {
    if (!tokenizer.is_special(id)) entries.push_back({tokenizer.bytes(id), id});
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.bytes < b.bytes; });
  std::string_view previous;
  std::vector<size_t> open;  // Nodes from the root to the last one.
  const auto close_below = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) {
      nodes_[open.back()].skip = static_cast<uint32_t>(nodes_.size());
    }
  };
  for (const Entry& entry : entries) {
    const auto differ = std::ranges::mismatch(previous, entry.bytes);
    close_below(static_cast<size_t>(differ.in2 - entry.bytes.begin()));
    while (open.size() < entry.bytes.size()) {
      const auto byte = static_cast<uint8_t>(entry.bytes[open.size()]);
      const auto depth = static_cast<uint16_t>(open.size());
      open.push_back(nodes_.size());
      nodes_.push_back({.token = kNoToken, .skip = 0, .depth = depth, .byte = byte});
      depth_max_ = std::max(depth_max_, depth);
    }
    nodes_.back().token = entry.id.value;
    previous = entry.bytes;
  }
  close_below(0);
}

void TokenTree::collect(GrammarWalker& walker, const GrammarState& state, TokenMask& mask) const {
  // The state before each byte of the way to the node under way.
  std::vector<GrammarWalker::StateId> before(depth_max_ + size_t{2});
  before[0] = walker.enter(state);
  for (size_t i = 0; i < nodes_.size();) {
    const Node& node = nodes_[i];
    const GrammarWalker::StateId after = walker.step(before[node.depth], node.byte);
    if (after == GrammarWalker::kDead) {
      i = node.skip;
      continue;
    }
    before[node.depth + size_t{1}] = after;
    if (node.token != kNoToken) mask.allow(TokenId{node.token});
    ++i;
  }
}

size_t GrammarMasks::StateHash::operator()(const GrammarState& state) const {
  uint64_t hash = 0;
  for (const auto& stack : state.stacks) {
    hash += stack.size() + 1;
    for (const ByteGrammar::NodeId node : stack) {
      hash = (hash ^ node) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

const TokenMask& GrammarMasks::mask(const GrammarState& state) {
  const auto found = masks_.find(state);
  if (found != masks_.end()) return found->second;
  if (masks_.size() == kMasksMax) masks_.clear();
  TokenMask mask(tree_.vocab_size());
  tree_.collect(walker_, state, mask);
  return masks_.emplace(state, std::move(mask)).first->second;
}

}  // namespace sluice::text
