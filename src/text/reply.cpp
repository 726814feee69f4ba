#include "text/reply.h"

namespace sluice::text {

void Reply::add(const ReplyEvent& event) {
  switch (event.kind) {
    case ReplyEvent::Kind::kReasoning:
      reasoning += event.text;
      break;
    case ReplyEvent::Kind::kReasoningWasContent:
      reasoning.resize(reasoning.size() - event.text.size());
      content += event.text;
      break;
    case ReplyEvent::Kind::kContent:
      content += event.text;
      break;
    case ReplyEvent::Kind::kCallBegun:
      calls.push_back({event.text, ""});
      break;
    case ReplyEvent::Kind::kArguments:
      calls.at(event.call).arguments += event.text;
      break;
    case ReplyEvent::Kind::kCallEnded:
      break;
  }
}

std::string_view finish_reason(ReplyEnd end, size_t calls) {
  if (end == ReplyEnd::kCut) return "length";
  return end == ReplyEnd::kByItself && calls > 0 ? "tool_calls" : "stop";
}

}  // namespace sluice::text
