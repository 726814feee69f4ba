#pragma once
#include "base/types.h"
#include "text/pretokenizer.h"
#include "text/rank_table.h"
#include "text/special_tokens.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace sluice::text {

/// Whether the spelling of a special token in text becomes that token or ordinary ones.
enum class Specials : uint8_t { kOff, kOn };

/// Turns text into the tokens that Kimi K3 was trained on, and tokens into bytes. Text from a user
/// is always encoded with Specials::kOff, so that it can never become a control token. Immutable;
/// any thread.
class Tokenizer {
 public:
  /// Reads tiktoken.model, and tokenizer_config.json where present, from the folder of a
  /// checkpoint. Throws what RankTable and SpecialTokens throw. `limits` differ from the published
  /// ones in tests only.
  explicit Tokenizer(const std::filesystem::path& folder, const ChunkLimits& limits = {});

  /// The tokens of `text`; none is put before it. Time is close to linear in its length, whatever
  /// it holds. Throws Error(kInvalidInput), naming the byte, when `text` is not UTF-8.
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text,
                                            Specials specials = Specials::kOff) const;

  /// The bytes of a token, which may be part of a character only; the spelling of a special one.
  /// Lives as long as this. Throws Error(kInvalidInput) for an id outside [0, vocab_size()).
  [[nodiscard]] std::string_view bytes(TokenId id) const;

  /// Ordinary and special tokens.
  [[nodiscard]] uint32_t vocab_size() const { return ranks_.size() + SpecialTokens::kCount; }

  [[nodiscard]] const SpecialIds& special() const { return specials_.ids(); }

  /// Whether `id` is one of the 256 special tokens.
  [[nodiscard]] bool is_special(TokenId id) const {
    return id.value >= special().bos.value && id.value <= special().pad.value;
  }

 private:
  struct Scratch {
    ScalarText scalars;
    RankTable::Scratch merges;
  };

  void encode_ordinary(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;

  RankTable ranks_;
  SpecialTokens specials_;
  ChunkLimits limits_;
};

}  // namespace sluice::text
