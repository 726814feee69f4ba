#include "server/reply_parts.h"

#include <utility>

namespace sluice::server {

void ReplyParts::add(const text::ReplyEvent& event) {
  using Kind = text::ReplyEvent::Kind;
  switch (event.kind) {
    case Kind::kReasoning:
      grow_kind(ReplyPart::Kind::kReasoning, event.text);
      break;
    case Kind::kContent:
      grow_kind(ReplyPart::Kind::kText, event.text);
      break;
    case Kind::kCallBegun:
      begin({.kind = ReplyPart::Kind::kCall, .name = event.text});
      break;
    case Kind::kArguments:
      grow(event.text);
      break;
    case Kind::kReasoningWasContent:  // ReplyReader tells it as content.
    case Kind::kCallEnded:
      break;
  }
}

void ReplyParts::finish() {
  if (open_) sink_.end_part(*open_);
  open_.reset();
}

void ReplyParts::begin(ReplyPart part) {
  finish();
  open_ = std::move(part);
  sink_.begin_part(*open_);
}

void ReplyParts::grow(const std::string& text) {
  if (text.empty()) return;
  open_->text += text;
  sink_.grow_part(*open_, text);
}

void ReplyParts::grow_kind(ReplyPart::Kind kind, const std::string& text) {
  if (text.empty()) return;
  if (!open_ || open_->kind != kind) begin({.kind = kind});
  grow(text);
}

}  // namespace sluice::server
