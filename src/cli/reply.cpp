#include "cli/reply.h"

#include <utility>

namespace sluice::cli {

ReplySplitter::ReplySplitter(ReplyMarkers markers, Channel start,
                             std::function<void(Channel, std::string_view)> show)
    : markers_(markers),
      show_(std::move(show)),
      state_(start == Channel::kReasoning ? State::kReasoning : State::kAnswer) {}

void ReplySplitter::enter(State state) {
  if (state_ == State::kReasoning) show_(Channel::kReasoning, {});
  if (state_ == State::kAnswer) show_(Channel::kAnswer, {});
  state_ = state;
}

void ReplySplitter::push(TokenId token, std::string_view bytes) {
  if (token == markers_.open || token == markers_.close) {
    enter(token == markers_.open ? State::kOpening : State::kClosing);
    tag_.clear();
    return;
  }
  switch (state_) {
    case State::kReasoning:
      show_(Channel::kReasoning, bytes);
      break;
    case State::kAnswer:
      show_(Channel::kAnswer, bytes);
      break;
    case State::kOutside:
      break;
    case State::kClosing:
      if (token == markers_.separator) state_ = State::kOutside;
      break;
    case State::kOpening:
      if (token != markers_.separator) {
        tag_ += bytes;
      } else if (tag_ == "think") {
        state_ = State::kReasoning;
      } else {
        state_ = tag_ == "response" ? State::kAnswer : State::kOutside;
      }
      break;
  }
}

}  // namespace sluice::cli
