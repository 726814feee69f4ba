#pragma once
#include "server/fields.h"
#include "server/reply_order.h"
#include "text/chat.h"

#include <cstdint>

namespace sluice::server {

/// The conversation of a request of Anthropic's Messages form. An answer that the last message
/// begins is gone on with. Throws Error(kInvalidInput) that begins with the field.
[[nodiscard]] text::ChatRequest read_messages(const Fields& request);

/// How the reply to it shall be generated: max_tokens, stop_sequences, thinking.budget_tokens and
/// the sampling fields. Throws the same.
void read_message_options(const Fields& request, uint32_t vocab, ReplyOrder& order);

}  // namespace sluice::server
