// Any bytes as the body of a request of each interface: refused with a reason that can be sent, or
// an order that can be carried out.
#include "base/check.h"
#include "base/error.h"
#include "server/anthropic_request.h"
#include "server/fields.h"
#include "server/openai_chat.h"
#include "server/openai_completions.h"
#include "server/problem.h"
#include "server/responses_request.h"
#include "server/responses_tools.h"
#include "text/chat.h"
#include "text/synthetic_ranks.h"
#include "text/tokenizer.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

using sluice::server::Dialect;
using sluice::server::Fields;
using sluice::server::parse_body;
using sluice::server::problem_of;
using sluice::server::ReplyOrder;
using sluice::text::JsonValue;
using sluice::text::Tokenizer;

Tokenizer make_tokenizer() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sluice-fuzz-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  sluice::text::write_synthetic_rank_file(folder / "tiktoken.model", 1024);
  Tokenizer tokenizer(folder);
  std::filesystem::remove_all(folder);
  return tokenizer;
}

ReplyOrder read_anthropic(const JsonValue& body, const Tokenizer& tokenizer) {
  const Fields fields(body);
  ReplyOrder order;
  order.chat = read_messages(fields);
  read_message_options(fields, tokenizer.vocab_size(), order);
  order.prompt = sluice::text::encode_chat(tokenizer, *order.chat);
  return order;
}

ReplyOrder read_response(const JsonValue& body, const Tokenizer& tokenizer) {
  const Fields fields(body);
  const sluice::server::ResponseTools tools(fields);
  ReplyOrder order;
  order.chat = read_response_chat(fields, tools);
  read_response_options(fields, tokenizer.vocab_size(), order);
  order.prompt = sluice::text::encode_chat(tokenizer, *order.chat);
  return order;
}

ReplyOrder read_chat(const JsonValue& body, const Tokenizer& tokenizer) {
  return sluice::server::read_chat_completion(body, tokenizer).order;
}

ReplyOrder read_text(const JsonValue& body, const Tokenizer& tokenizer) {
  return sluice::server::read_completion(body, tokenizer).order;
}

void check_order(const ReplyOrder& order, const Tokenizer& tokenizer) {
  for (const sluice::TokenId id : order.prompt) {
    SLUICE_CHECK(id.value >= 0 && static_cast<uint32_t>(id.value) < tokenizer.vocab_size());
  }
  SLUICE_CHECK(order.choices >= 1);
  SLUICE_CHECK(order.max_tokens.value_or(1) >= 1);
  SLUICE_CHECK(std::isfinite(order.sampling.temperature) && order.sampling.temperature >= 0);
  SLUICE_CHECK(order.sampling.top_p > 0 && order.sampling.top_p <= 1);
  for (const std::string& stop : order.stops) SLUICE_CHECK(!stop.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer tokenizer = make_tokenizer();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto read : {read_chat, read_text, read_anthropic, read_response}) {
    try {
      check_order(read(parse_body(text), tokenizer), tokenizer);
    } catch (const sluice::Error& error) {
      SLUICE_CHECK(error.code() == sluice::ErrorCode::kInvalidInput);
      for (const Dialect dialect : {Dialect::kOpenAi, Dialect::kAnthropic}) {
        static_cast<void>(parse_body(problem_json(problem_of(error), dialect)));
      }
    }
  }
  return 0;
}
