#include "server/reply_reader.h"

#include <algorithm>
#include <utility>

namespace sluice::server {

using text::Channel;
using text::ReplyEvent;

Channel opened_channel(const text::ChatRequest& chat) {
  if (!chat.add_generation_prompt && !chat.continue_final_message) return Channel::kMarkup;
  return chat.thinking && !chat.continue_final_message ? Channel::kReasoning : Channel::kContent;
}

ReplyReader::ReplyReader(const ReplyOrder& order, const text::Tokenizer& tokenizer, Sink sink)
    : tokenizer_(tokenizer),
      sink_(std::move(sink)),
      include_stop_(order.include_stop),
      stop_ids_(order.stop_ids),
      stops_(order.stops) {
  if (!order.ignore_eos) {
    const auto ends = tokenizer.special().ends();
    end_ids_.assign(ends.begin(), ends.end());
  }
  if (!order.chat) return;
  channel_ = opened_channel(*order.chat);
  parser_.emplace(tokenizer.special(), channel_, [this](const ReplyEvent& event) { take(event); });
}

Channel ReplyReader::push(TokenId token) {
  ++tokens_;
  channel_ = read(token);
  if (channel_ == Channel::kReasoning) ++reasoning_tokens_;
  if (stops_.stopped() && !end_) end_ = text::ReplyEnd::kStopString;
  return channel_;
}

Channel ReplyReader::read(TokenId token) {
  const bool stops = std::ranges::find(stop_ids_, token) != stop_ids_.end();
  if (stops || std::ranges::find(end_ids_, token) != end_ids_.end()) {
    if (stops) stop_id_ = token;
    end_ = text::ReplyEnd::kByItself;
    return Channel::kMarkup;
  }
  if (parser_) return parser_->push(token, tokenizer_.bytes(token));
  if (tokenizer_.is_special(token)) return Channel::kMarkup;
  take_content(decoder_.push(tokenizer_.bytes(token)));
  return Channel::kContent;
}

void ReplyReader::finish() {
  if (parser_) {
    parser_->finish();
  } else {
    take_content(decoder_.finish());
  }
  release_content();
}

void ReplyReader::take(const ReplyEvent& event) {
  if (stops_.stopped()) return;
  switch (event.kind) {
    case ReplyEvent::Kind::kReasoningWasContent:
    case ReplyEvent::Kind::kContent:
      return take_content(event.text);
    case ReplyEvent::Kind::kCallBegun:
      ++calls_;
      release_content();
      break;
    case ReplyEvent::Kind::kReasoning:
    case ReplyEvent::Kind::kArguments:
    case ReplyEvent::Kind::kCallEnded:
      break;
  }
  if (sink_) sink_(event);
}

void ReplyReader::take_content(const std::string& text) {
  if (stops_.stopped()) return;
  std::string certain = stops_.push(text);
  if (stops_.stopped() && include_stop_) certain += stops_.stop();
  if (sink_ && !certain.empty()) sink_({ReplyEvent::Kind::kContent, std::move(certain)});
}

// What might have begun a stop string has not become one.
void ReplyReader::release_content() {
  std::string rest = stops_.flush();
  if (sink_ && !rest.empty()) sink_({ReplyEvent::Kind::kContent, std::move(rest)});
}

}  // namespace sluice::server
