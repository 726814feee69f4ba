#pragma once
#include "base/types.h"
#include "text/output_parser.h"
#include "text/reply.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What tests of replies need: tokens cut in several ways, and a reader of the events.
namespace sluice::text {

/// Control tokens of no vocabulary.
inline constexpr SpecialIds kReplyIds = {.bos = TokenId{100},
                                         .eos = TokenId{101},
                                         .end_of_msg = TokenId{102},
                                         .open = TokenId{103},
                                         .close = TokenId{104},
                                         .sep = TokenId{105},
                                         .eot = TokenId{106},
                                         .unk = TokenId{107},
                                         .pad = TokenId{108}};

/// A token as OutputParser takes it.
struct ReplyToken {
  TokenId id;
  std::string bytes;
};

inline bool is_marker(const SpecialIds& ids, TokenId id) {
  return id == ids.open || id == ids.close || id == ids.sep || id == ids.end_of_msg ||
         id == ids.eos || id == ids.eot;
}

/// The same reply from a vocabulary of single bytes.
inline std::vector<ReplyToken> in_bytes(const SpecialIds& ids,
                                        const std::vector<ReplyToken>& tokens) {
  std::vector<ReplyToken> cut;
  for (const ReplyToken& token : tokens) {
    if (is_marker(ids, token.id)) {
      cut.push_back(token);
    } else {
      for (const char byte : token.bytes) cut.push_back({token.id, std::string(1, byte)});
    }
  }
  return cut;
}

/// The same reply from a vocabulary in which one token has all that stands between two markers.
inline std::vector<ReplyToken> merged(const SpecialIds& ids,
                                      const std::vector<ReplyToken>& tokens) {
  std::vector<ReplyToken> whole;
  for (const ReplyToken& token : tokens) {
    const bool extends =
        !whole.empty() && !is_marker(ids, token.id) && !is_marker(ids, whole.back().id);
    if (extends) {
      whole.back().bytes += token.bytes;
    } else {
      whole.push_back(token);
    }
  }
  return whole;
}

/// What came of a reply, and of which channel its tokens were.
struct ParsedReply {
  Reply reply;
  std::vector<ReplyEvent> events;
  std::string reasoning_bytes, content_bytes;
};

/// What is wrong with the events, whatever the tokens are; empty if nothing.
inline std::string fault_of(const ParsedReply& parsed) {
  using Kind = ReplyEvent::Kind;
  size_t ended = 0;
  bool in_call = false;
  for (const ReplyEvent& event : parsed.events) {
    const bool inside = event.kind == Kind::kArguments || event.kind == Kind::kCallEnded;
    if (event.text.empty() != (event.kind == Kind::kCallEnded)) return " an event without text";
    if (find_invalid_utf8(event.text) != std::string::npos) return " text that is not UTF-8";
    if (inside != in_call) return " a call within another, or what is of none";
    if ((inside || event.kind == Kind::kCallBegun) && event.call != ended) return " a wrong index";
    in_call = event.kind == Kind::kCallBegun || event.kind == Kind::kArguments;
    ended += event.kind == Kind::kCallEnded ? 1 : 0;
  }
  return ended == parsed.reply.calls.size() ? "" : " a call that does not end";
}

inline ParsedReply parse_reply(const SpecialIds& ids, Channel start,
                               const std::vector<ReplyToken>& tokens) {
  ParsedReply parsed;
  OutputParser parser(ids, start, [&](const ReplyEvent& event) {
    parsed.reply.add(event);
    parsed.events.push_back(event);
  });
  for (const ReplyToken& token : tokens) {
    const Channel channel = parser.push(token.id, token.bytes);
    if (channel == Channel::kReasoning) parsed.reasoning_bytes += token.bytes;
    if (channel == Channel::kContent) parsed.content_bytes += token.bytes;
  }
  parser.finish();
  return parsed;
}

/// A reply on one line, for comparison: reasoning|content|call arguments|call arguments
inline std::string one_line(const Reply& reply) {
  std::string line = reply.reasoning + '|' + reply.content;
  for (const ReplyCall& call : reply.calls) line += '|' + call.name + ' ' + call.arguments;
  return line;
}

inline std::string one_line(const ParsedReply& parsed) {
  return one_line(parsed.reply) + fault_of(parsed);
}

}  // namespace sluice::text
