#pragma once
#include "server/fields.h"
#include "server/http.h"
#include "server/reply_writer.h"
#include "server/responses_tools.h"
#include "text/json_value.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::server {

/// What is known of an answer of OpenAI's Responses form before there is any.
struct ResponseHead {
  std::string id{}, model{};
  int64_t created = 0;     ///< Seconds since 1970.
  text::JsonValue echo{};  ///< What the answer repeats of the request.
  bool stream = false;
  bool logprobs = false;   ///< Content has them.
  bool encrypted = false;  ///< Reasoning has `encrypted_content`.
};

/// The members of a request that its answer repeats, with their defaults.
[[nodiscard]] text::JsonValue echo_of(const Fields& request);

/// The writer of such an answer. What is passed by reference must outlive it.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_response_writer(ResponseHead head,
                                                                const ResponseTools& tools,
                                                                const text::Tokenizer& tokenizer,
                                                                HttpReply& reply);

}  // namespace sluice::server
