#include "cli/answer_stream.h"

#include "base/error.h"
#include "text/utf8.h"

#include <utility>

namespace sluice::cli {

AnswerStream::AnswerStream(std::vector<std::string> stops, Show show)
    : stops_(stops), show_(std::move(show)) {
  for (const std::string& stop : stops) {
    if (text::find_invalid_utf8(stop) == std::string::npos) continue;
    throw Error(ErrorCode::kInvalidInput, "a stop string must be UTF-8, as the answers are");
  }
}

void AnswerStream::expect_chat(const text::SpecialIds& ids, Channel start) {
  parser_.emplace(ids, start, [this](const text::ReplyEvent& event) { take(event); });
}

bool AnswerStream::push(TokenId token, std::string_view bytes) {
  if (parser_) {
    parser_->push(token, bytes);
  } else {
    take_answer(decoder_.push(bytes));
  }
  return !stops_.stopped();
}

void AnswerStream::take(const text::ReplyEvent& event) {
  using Kind = text::ReplyEvent::Kind;
  switch (event.kind) {
    case Kind::kReasoning:
      show(Channel::kReasoning, event.text);
      break;
    case Kind::kReasoningWasContent:
      reasoning_.resize(reasoning_.size() - event.text.size());
      take_answer(event.text);
      break;
    case Kind::kContent:
      take_answer(event.text);
      break;
    case Kind::kCallBegun:
    case Kind::kArguments:
    case Kind::kCallEnded:
      break;
  }
}

void AnswerStream::take_answer(const std::string& text) {
  show(Channel::kContent, stops_.push(text));
}

void AnswerStream::finish() {
  if (parser_) {
    parser_->finish();
  } else {
    take_answer(decoder_.finish());
  }
  show(Channel::kContent, stops_.flush());
}

void AnswerStream::show(Channel channel, const std::string& text) {
  if (text.empty()) return;
  (channel == Channel::kReasoning ? reasoning_ : answer_) += text;
  show_(channel, text);
}

const std::string& AnswerStream::text(Channel channel) const {
  return channel == Channel::kReasoning ? reasoning_ : answer_;
}

}  // namespace sluice::cli
