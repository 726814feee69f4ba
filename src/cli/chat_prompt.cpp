#include "cli/chat_prompt.h"

#include "base/check.h"
#include "base/error.h"
#include "text/chat.h"

#include <utility>

namespace sluice::cli {
namespace {

text::Role role_of(std::string_view name) {
  if (name == "system") return text::Role::kSystem;
  if (name == "user") return text::Role::kUser;
  SLUICE_CHECK(name == "assistant");
  return text::Role::kAssistant;
}

text::Effort effort_of(std::string_view name) {
  if (name == "low") return text::Effort::kLow;
  if (name == "high") return text::Effort::kHigh;
  if (name == "max") return text::Effort::kMax;
  SLUICE_CHECK(name == "none");
  return text::Effort::kNone;
}

}  // namespace

std::optional<text::Tokenizer> open_tokenizer(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(ErrorCode::kNotFound, "{}: no such folder", folder.string());
  }
  if (!std::filesystem::exists(folder / "tiktoken.model", error)) return std::nullopt;
  return text::Tokenizer(folder);
}

void check_vocabulary(const text::Tokenizer& tokenizer, uint32_t vocab, const std::string& folder) {
  if (tokenizer.vocab_size() == vocab) return;
  throw Error(
      ErrorCode::kCorrupt,
      "{0}: tiktoken.model makes a vocabulary of {1} tokens and config.json says {2}; one of "
      "them belongs to another model",
      folder, tokenizer.vocab_size(), vocab);
}

std::vector<TokenId> encode_chat(const text::Tokenizer& tokenizer,
                                 std::span<const ChatMessage> messages, std::string_view effort) {
  text::ChatRequest request;
  request.effort = effort_of(effort);
  request.thinking = request.effort != text::Effort::kNone;
  for (const ChatMessage& message : messages) {
    text::Message& added = request.messages.emplace_back();
    added.role = role_of(message.role);
    added.content = {message.content};
    added.reasoning = message.reasoning;
  }
  return text::encode_chat(tokenizer, request);
}

text::Channel first_channel(std::string_view effort) {
  return effort_of(effort) == text::Effort::kNone ? text::Channel::kContent
                                                  : text::Channel::kReasoning;
}

}  // namespace sluice::cli
