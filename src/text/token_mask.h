#pragma once
#include "base/types.h"
#include "text/grammar_walker.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::text {

/// Which tokens may come next: bit i % 64 of word i / 64 stands for token i.
class TokenMask {
 public:
  explicit TokenMask(uint32_t vocab_size) : words_((vocab_size + 63) / 64) {}

  void allow(TokenId id) { words_[word(id)] |= bit(id); }
  void forbid_all() { std::fill(words_.begin(), words_.end(), 0); }
  [[nodiscard]] bool allows(TokenId id) const { return (words_[word(id)] & bit(id)) != 0; }
  [[nodiscard]] std::span<const uint64_t> words() const { return words_; }

 private:
  static size_t word(TokenId id) { return static_cast<size_t>(id.value) / 64; }
  static uint64_t bit(TokenId id) { return uint64_t{1} << (id.value % 64); }

  std::vector<uint64_t> words_;
};

/// The ordinary tokens of a vocabulary in the order of their bytes, as a tree in which tokens that
/// begin alike share the way. Immutable; any thread.
class TokenTree {
 public:
  explicit TokenTree(const Tokenizer& tokenizer);

  [[nodiscard]] uint32_t vocab_size() const { return vocab_size_; }

  /// Allows the tokens whose bytes can follow `state`.
  void collect(GrammarWalker& walker, const GrammarState& state, TokenMask& mask) const;

 private:
  static constexpr int32_t kNoToken = -1;
  // In preorder.
  struct Node {
    int32_t token;  // That ends here.
    uint32_t skip;  // The node after the subtree.
    uint16_t depth;
    uint8_t byte;
  };

  uint32_t vocab_size_;
  uint16_t depth_max_ = 0;
  std::vector<Node> nodes_;
};

/// The masks of one grammar, made when they are asked for. Not thread-safe.
class GrammarMasks {
 public:
  /// Both must outlive this.
  GrammarMasks(const ByteGrammar& grammar, const TokenTree& tree) : tree_(tree), walker_(grammar) {}

  [[nodiscard]] GrammarState start() { return walker_.start(); }
  [[nodiscard]] GrammarState advance(const GrammarState& state, std::string_view bytes) {
    return walker_.advance(state, bytes);
  }

  /// The ordinary tokens that may follow. Lives until the next call.
  [[nodiscard]] const TokenMask& mask(const GrammarState& state);

 private:
  static constexpr size_t kMasksMax = 256;  // 5 MB of K3's vocabulary.
  struct StateHash {
    size_t operator()(const GrammarState& state) const;
  };

  const TokenTree& tree_;
  GrammarWalker walker_;
  std::unordered_map<GrammarState, TokenMask, StateHash> masks_;
};

}  // namespace sluice::text
