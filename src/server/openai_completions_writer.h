#pragma once
#include "server/http.h"
#include "server/openai_answer.h"
#include "server/reply_writer.h"
#include "text/tokenizer.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::server {

/// How the answer to a completion shall be.
struct CompletionForm {
  AnswerForm common;
  /// What is shown before the text of the choices, by prompt.
  std::vector<std::string> echo;
  std::vector<std::vector<TokenId>> prompts{};  ///< Shown with token_ids.
};

/// The writer of completions. What is passed by reference must outlive it.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_completion_writer(CompletionForm form,
                                                                  AnswerHead head,
                                                                  const text::Tokenizer& tokenizer,
                                                                  HttpReply& reply);

}  // namespace sluice::server
