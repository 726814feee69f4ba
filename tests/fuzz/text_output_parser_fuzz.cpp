// Any tokens as a chat reply: the events are sound, arguments are JSON, and how the text is cut
// into tokens makes no difference.
#include "base/check.h"
#include "text/json_value.h"
#include "text/reply_test_support.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::TokenId;
using sluice::text::kReplyIds;
using sluice::text::ReplyToken;

constexpr TokenId kWord{0};

// The control tokens are bytes that text never has, and the rest are tokens of one byte.
ReplyToken token_of(char byte) {
  switch (static_cast<uint8_t>(byte)) {
    case 0xF8:
      return {kReplyIds.open, "<|open|>"};
    case 0xF9:
      return {kReplyIds.close, "<|close|>"};
    case 0xFA:
      return {kReplyIds.sep, "<|sep|>"};
    case 0xFB:
      return {kReplyIds.end_of_msg, "<|end_of_msg|>"};
    default:
      return {kWord, std::string(1, byte)};
  }
}

// What calls have without a json block, which may say anything.
void check_arguments(const sluice::text::Reply& reply) {
  for (const auto& call : reply.calls) {
    const sluice::text::JsonParse parsed = sluice::text::parse_json(call.arguments);
    SLUICE_CHECK(parsed.value || parsed.error.find("nested") != std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The first byte says what the prompt has opened.
  if (size == 0) return 0;
  const auto start = static_cast<sluice::text::Channel>(data[0] % 3);
  const std::string_view script(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<ReplyToken> tokens;
  for (const char byte : script) tokens.push_back(token_of(byte));
  const auto parsed = sluice::text::parse_reply(kReplyIds, start, tokens);
  SLUICE_CHECK(sluice::text::fault_of(parsed).empty());
  const auto whole =
      sluice::text::parse_reply(kReplyIds, start, sluice::text::merged(kReplyIds, tokens));
  SLUICE_CHECK(one_line(parsed) == one_line(whole));
  if (script.find("json") == std::string_view::npos) check_arguments(parsed.reply);
  return 0;
}
