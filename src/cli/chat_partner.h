#pragma once
#include "cli/answer_options.h"
#include "cli/chat_prompt.h"
#include "cli/model_options.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice::cli {

struct ChatAnswer {
  std::string content{}, reasoning{};
  bool stopped = false;   ///< By Ctrl-C.
  std::string refusal{};  ///< Why there is no answer; empty when there is one.
};

/// Who answers in a conversation.
class ChatPartner {
 public:
  virtual ~ChatPartner() = default;
  using Write = std::function<void(std::string_view)>;
  /// Answers the last of `messages`: with `write` as it comes, its reasoning on standard error.
  /// effort: as --effort has it. Throws Error(kIo) or Error(kCorrupt) when the answer is lost and
  /// the next need not be.
  virtual ChatAnswer answer(std::span<const ChatMessage> messages, const std::string& effort,
                            const Write& write) = 0;
  /// The conversation is over. Throws Error.
  virtual void finish() {}
};

/// The model in this process. Throws Error when it cannot be opened.
[[nodiscard]] std::unique_ptr<ChatPartner> open_local_partner(const ModelSettings& model,
                                                              const AnswerSettings& settings);
/// A server of OpenAI's interface, such as `sluice serve`. key: empty for none. Throws
/// Error(kInvalidInput) for an address that is none.
[[nodiscard]] std::unique_ptr<ChatPartner> open_remote_partner(const std::string& url,
                                                               const std::string& key,
                                                               const AnswerSettings& settings);

}  // namespace sluice::cli
