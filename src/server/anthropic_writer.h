#pragma once
#include "server/http.h"
#include "server/reply_writer.h"

#include <cstdint>
#include <memory>
#include <string>

namespace sluice::server {

/// What is known of an answer of Anthropic's Messages form before there is any.
struct MessageHead {
  std::string id{}, model{};
  uint32_t prompt = 0;  ///< Tokens.
  bool stream = false;
};

/// The writer of such an answer. `reply` must outlive it.
[[nodiscard]] std::unique_ptr<ReplyWriter> make_message_writer(MessageHead head, HttpReply& reply);

}  // namespace sluice::server
