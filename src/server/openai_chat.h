#pragma once
#include "server/openai_chat_writer.h"
#include "server/reply_order.h"
#include "text/json_value.h"
#include "text/tokenizer.h"

namespace sluice::server {

/// A request for a chat completion.
struct ChatCompletion {
  ReplyOrder order;
  ChatForm form;
};

/// Throws Error(kInvalidInput) that begins with the field.
[[nodiscard]] ChatCompletion read_chat_completion(const text::JsonValue& body,
                                                  const text::Tokenizer& tokenizer);

}  // namespace sluice::server
