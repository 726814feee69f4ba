#pragma once
#include "base/types.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::text {

/// The control tokens that the program itself uses. K3 gives them places after the ordinary tokens,
/// whatever they are called.
struct SpecialIds {
  TokenId bos, eos;
  TokenId end_of_msg;        ///< Ends a message; what the model stops with.
  TokenId open, close, sep;  ///< Frame the tags of the chat markup.
  TokenId eot;
  TokenId unk, pad;

  /// Those that end an answer.
  [[nodiscard]] std::array<TokenId, 3> ends() const { return {end_of_msg, eos, eot}; }
};

/// The 256 tokens after the ordinary ones, and where their spellings occur in text. Immutable; any
/// thread.
class SpecialTokens {
 public:
  static constexpr uint32_t kCount = 256;

  struct Match {
    size_t begin;  ///< Byte offset.
    TokenId id;
  };

  /// The names come from `added_tokens_decoder` of `folder`/tokenizer_config.json, K3's own when
  /// there is no such file; unnamed ones are called <|reserved_token_ID|>. `first` is the id of the
  /// first. Throws Error(kCorrupt) for a file that is not JSON, names an id outside [first, first +
  /// 256), or gives one name twice.
  SpecialTokens(const std::filesystem::path& folder, uint32_t first);
  SpecialTokens(SpecialTokens&&) = default;
  SpecialTokens& operator=(SpecialTokens&&) = default;

  [[nodiscard]] const SpecialIds& ids() const { return ids_; }
  [[nodiscard]] std::string_view name(uint32_t slot) const { return names_[slot]; }

  /// The leftmost spelling at or after byte `from`, the longest when several begin there.
  [[nodiscard]] std::optional<Match> find(std::string_view text, size_t from) const;

 private:
  std::vector<std::string> names_;                       // [kCount]
  std::unordered_map<std::string_view, TokenId> id_of_;  // Views of names_, which never changes.
  std::vector<size_t> lengths_;                          // Bytes that names have, descending.
  std::string first_bytes_;                              // Bytes that names begin with.
  SpecialIds ids_;
};

}  // namespace sluice::text
