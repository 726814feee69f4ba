#pragma once
#include "base/types.h"
#include "text/reply.h"
#include "text/tokenizer.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// One message of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant".
  std::string content;
  std::string reasoning;  ///< Of assistants; kept for the following turns.
};

/// The tokenizer of a model's folder; nothing when it has none. Throws Error when it is damaged.
[[nodiscard]] std::optional<text::Tokenizer> open_tokenizer(const std::filesystem::path& folder);
/// Throws Error(kCorrupt) when a model of `vocab` tokens could generate one that the tokenizer
/// lacks.
void check_vocabulary(const text::Tokenizer& tokenizer, uint32_t vocab, const std::string& folder);

/// The conversation in the model's chat format, up to where the model goes on. effort: as --effort
/// has it.
[[nodiscard]] std::vector<TokenId> encode_chat(const text::Tokenizer& tokenizer,
                                               std::span<const ChatMessage> messages,
                                               std::string_view effort);
/// The channel that encode_chat() leaves open.
[[nodiscard]] text::Channel first_channel(std::string_view effort);

}  // namespace sluice::cli
