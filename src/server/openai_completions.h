#pragma once
#include "server/openai_completions_writer.h"
#include "server/reply_order.h"
#include "text/json_value.h"
#include "text/tokenizer.h"

namespace sluice::server {

/// A request for completions of one or more prompts.
struct Completion {
  ReplyOrder order;
  CompletionForm form;
};

/// Throws Error(kInvalidInput) that begins with the field.
[[nodiscard]] Completion read_completion(const text::JsonValue& body,
                                         const text::Tokenizer& tokenizer);

}  // namespace sluice::server
