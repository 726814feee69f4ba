#include "text/output_parser.h"

#include <utility>

namespace sluice::text {
namespace {

std::string whole_characters(std::string_view bytes) {
  IncrementalDecoder decoder;
  std::string text = decoder.push(bytes);
  return text + decoder.finish();
}

}  // namespace

OutputParser::OutputParser(const SpecialIds& ids, Channel start, Sink sink)
    : ids_(ids),
      sink_(std::move(sink)),
      state_(start == Channel::kReasoning ? State::kReasoning
             : start == Channel::kContent ? State::kContent
                                          : State::kOutside) {}

Channel OutputParser::push(TokenId id, std::string_view bytes) {
  if (state_ == State::kEnded) return Channel::kMarkup;
  if (id == ids_.end_of_msg || id == ids_.eos || id == ids_.eot) {
    finish();
    return Channel::kMarkup;
  }
  if (id == ids_.open || id == ids_.close) {
    take_text(decoder_.finish());
    header_ = Header{.opens = id == ids_.open, .bytes = {}};
    return Channel::kMarkup;
  }
  if (id == ids_.sep) {
    if (header_) end_header();
    return Channel::kMarkup;
  }
  if (header_) {
    header_->bytes += bytes;
    return Channel::kMarkup;
  }
  take_text(decoder_.push(bytes));
  if (state_ == State::kReasoning) return Channel::kReasoning;
  return state_ == State::kContent ? Channel::kContent : Channel::kMarkup;
}

void OutputParser::finish() {
  if (state_ == State::kEnded) return;
  take_text(decoder_.finish());
  if (state_ == State::kCall) {
    emit(ReplyEvent::Kind::kArguments, arguments_.cut_value());
    end_call();
  }
  state_ = State::kEnded;
}

void OutputParser::emit(ReplyEvent::Kind kind, std::string text) {
  if (text.empty()) return;
  sink_({.kind = kind, .text = std::move(text), .call = call_});
}

void OutputParser::take_text(std::string text) {
  switch (state_) {
    case State::kReasoning:
      thought_ += text;
      emit(ReplyEvent::Kind::kReasoning, std::move(text));
      break;
    case State::kContent:
      emit(ReplyEvent::Kind::kContent, std::move(text));
      break;
    case State::kCall:
      emit(ReplyEvent::Kind::kArguments, arguments_.push(text));
      break;
    case State::kOutside:
    case State::kEnded:
      break;
  }
}

void OutputParser::end_header() {
  const Header header = *std::exchange(header_, std::nullopt);
  const MarkupTag tag = parse_markup_tag(whole_characters(header.bytes));
  if (header.opens) {
    open(tag);
  } else {
    close(tag);
  }
}

void OutputParser::open(const MarkupTag& tag) {
  if (tag.name == "think") enter(State::kReasoning);
  if (tag.name == "response") enter(State::kContent);
  if (tag.name == "tools") enter(State::kOutside);
  if (tag.name == "call") begin_call(tag);
  if (state_ != State::kCall) return;
  if (tag.name == "json") emit(ReplyEvent::Kind::kArguments, arguments_.open_json());
  if (tag.name == "argument") {
    const std::string* key = tag.find("key");
    const std::string* type = tag.find("type");
    emit(ReplyEvent::Kind::kArguments,
         key == nullptr ? arguments_.close_value()
                        : arguments_.open_argument(*key, type == nullptr ? "" : *type));
  }
}

void OutputParser::close(const MarkupTag& tag) {
  if (tag.name == "message") {
    finish();
  } else if (tag.name == "think" || tag.name == "response" || tag.name == "tools") {
    // A model that was asked to think may answer at once.
    if (tag.name == "response" && state_ == State::kReasoning) {
      emit(ReplyEvent::Kind::kReasoningWasContent, std::move(thought_));
    }
    enter(State::kOutside);
  } else if (state_ == State::kCall) {
    if (tag.name == "argument" || tag.name == "json" || tag.name == "call") {
      emit(ReplyEvent::Kind::kArguments, arguments_.close_value());
    }
    if (tag.name == "call") enter(State::kOutside);
  }
}

void OutputParser::enter(State state) {
  if (state == state_) return;
  if (state_ == State::kCall) {
    emit(ReplyEvent::Kind::kArguments, arguments_.close_value());
    end_call();
  }
  state_ = state;
  thought_.clear();
}

void OutputParser::begin_call(const MarkupTag& tag) {
  enter(State::kOutside);
  const std::string* tool = tag.find("tool");
  if (tool == nullptr || tool->empty()) return;
  state_ = State::kCall;
  arguments_ = {};
  emit(ReplyEvent::Kind::kCallBegun, *tool);
}

void OutputParser::end_call() {
  emit(ReplyEvent::Kind::kArguments, arguments_.end());
  sink_({.kind = ReplyEvent::Kind::kCallEnded, .call = call_++});
}

}  // namespace sluice::text
