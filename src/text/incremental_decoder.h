#pragma once
#include "base/types.h"
#include "text/tokenizer.h"

#include <span>
#include <string>
#include <string_view>

namespace sluice::text {

/// Turns the bytes of tokens, which may end inside a character, into text that is always whole
/// characters. The concatenation of all that push() and finish() return does not depend on where
/// the bytes were cut.
class IncrementalDecoder {
 public:
  /// The longest decodable text so far that was not returned before. Each maximal ill-formed
  /// subpart becomes one U+FFFD at once; at most 3 bytes that may yet begin a character are held
  /// back.
  [[nodiscard]] std::string push(std::string_view bytes);

  /// What was held back, as U+FFFD, since nothing will complete it. The decoder is then as new.
  [[nodiscard]] std::string finish();

 private:
  std::string held_;  // Incomplete but so far valid, at most 3 bytes.
};

/// The text of whole sequences: what an IncrementalDecoder returns for them in total. Special
/// tokens appear as their spelling. Throws Error(kInvalidInput) for an id outside the vocabulary.
[[nodiscard]] std::string decode(const Tokenizer& tokenizer, std::span<const TokenId> ids);

}  // namespace sluice::text
