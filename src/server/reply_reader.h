#pragma once
#include "base/types.h"
#include "engine/stop_matcher.h"
#include "server/reply_order.h"
#include "text/incremental_decoder.h"
#include "text/output_parser.h"
#include "text/reply.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::server {

/// Reads one reply token by token: what it says, and when it is over. The engine's thread and the
/// one that writes the answer have one each and come to the same. Not thread-safe.
class ReplyReader {
 public:
  /// Never kReasoningWasContent: that text comes as content too, for it cannot be taken back from a
  /// stream, and an answer that is sent whole shall say the same.
  using Sink = std::function<void(text::ReplyEvent)>;

  /// Throws Error(kInvalidInput) for a stop string that is empty. The tokenizer must outlive this.
  ReplyReader(const ReplyOrder& order, const text::Tokenizer& tokenizer, Sink sink);
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  /// Takes the next token and returns the channel that it belongs to. False from ended() before.
  text::Channel push(TokenId token);
  /// There are no more tokens; tells what was held back. Once.
  void finish();

  [[nodiscard]] bool ended() const { return end_.has_value(); }
  /// kCut while it has not ended.
  [[nodiscard]] text::ReplyEnd end() const { return end_.value_or(text::ReplyEnd::kCut); }
  [[nodiscard]] const std::string& stop_string() const { return stops_.stop(); }
  /// The token of ReplyOrder::stop_ids that ended it.
  [[nodiscard]] std::optional<TokenId> stop_id() const { return stop_id_; }
  [[nodiscard]] uint32_t tokens() const { return tokens_; }
  [[nodiscard]] uint32_t reasoning_tokens() const { return reasoning_tokens_; }
  [[nodiscard]] uint32_t calls() const { return calls_; }
  /// Of the last token, or else the one that the prompt has opened.
  [[nodiscard]] text::Channel channel() const { return channel_; }

 private:
  text::Channel read(TokenId token);
  void take(const text::ReplyEvent& event);
  void take_content(const std::string& text);
  void release_content();

  const text::Tokenizer& tokenizer_;
  const Sink sink_;
  const bool include_stop_;
  std::vector<TokenId> end_ids_, stop_ids_;
  engine::StopMatcher stops_;
  text::IncrementalDecoder decoder_;          // Of a text that is continued,
  std::optional<text::OutputParser> parser_;  // or of a chat.
  std::optional<text::ReplyEnd> end_;
  std::optional<TokenId> stop_id_;
  uint32_t tokens_ = 0, reasoning_tokens_ = 0, calls_ = 0;
  text::Channel channel_ = text::Channel::kContent;
};

}  // namespace sluice::server
