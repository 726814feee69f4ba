#pragma once
#include "server/http.h"
#include "server/openai_answer.h"
#include "server/reply_writer.h"
#include "text/tokenizer.h"

#include <memory>
#include <vector>

namespace sluice::server {

/// How the answer to a chat completion shall be.
struct ChatForm {
  AnswerForm common;
  bool reasoning = true;          ///< Show it.
  std::vector<TokenId> prompt{};  ///< Shown with token_ids.
};

/// The writer of chat completions. What is passed by reference must outlive it.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_chat_writer(ChatForm form, AnswerHead head,
                                                            const text::Tokenizer& tokenizer,
                                                            HttpReply& reply);

}  // namespace sluice::server
