#pragma once
#include "server/fields.h"
#include "server/reply_order.h"
#include "server/responses_tools.h"
#include "text/chat.h"

#include <cstdint>

namespace sluice::server {

/// What a reasoning item holds as `encrypted_content` for clients that send nothing else of it
/// back: this, and then the reasoning as it is.
inline constexpr std::string_view kReasoningPrefix = "sluice:";

/// The conversation of a request of OpenAI's Responses form. Throws Error(kInvalidInput) that
/// begins with the field.
[[nodiscard]] text::ChatRequest read_response_chat(const Fields& request,
                                                   const ResponseTools& tools);

/// How the reply to it shall be generated: max_output_tokens, probabilities when `include` asks for
/// them, and the sampling fields. Throws the same.
void read_response_options(const Fields& request, uint32_t vocab, ReplyOrder& order);

/// Whether `include` names this.
[[nodiscard]] bool includes(const Fields& request, std::string_view what);

}  // namespace sluice::server
