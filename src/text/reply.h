#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// Which part of a chat reply a token belongs to.
enum class Channel : uint8_t {
  kReasoning,  ///< What the model thinks before it answers.
  kContent,    ///< The answer.
  kMarkup,     ///< Neither: control tokens, tags, calls of tools, and what stands between channels.
};

/// The next piece of a reply.
struct ReplyEvent {
  enum class Kind : uint8_t {
    kReasoning,            ///< `text` of the reasoning.
    kContent,              ///< `text` of the answer.
    kReasoningWasContent,  ///< `text`, the end of the reasoning so far, was meant as the answer.
    kCallBegun,            ///< `text` is the name of the tool.
    /// `text` continues the arguments, which are the text of a JSON object, or whatever the model
    /// wrote in its place.
    kArguments,
    kCallEnded,  ///< The arguments are complete.
  };
  Kind kind;
  std::string text{};  ///< Whole characters, valid UTF-8; empty only in kCallEnded.
  size_t call = 0;     ///< Of the last three: the calls of a reply count from 0.
};

struct ReplyCall {
  std::string name;
  std::string arguments;
};

/// A whole reply.
struct Reply {
  std::string reasoning, content;
  std::vector<ReplyCall> calls;

  /// Appends one event. So a reply that is handed out whole is what one that is streamed adds up
  /// to, but for kReasoningWasContent, which takes text back that a stream has shown.
  void add(const ReplyEvent& event);
};

/// Why there is no more of a reply.
enum class ReplyEnd : uint8_t {
  kByItself,    ///< The model ended it.
  kStopString,  ///< It came to a text that the client wants it to end before.
  kCut,         ///< There was no room for more.
};

/// What OpenAI's interface calls it: "stop", "tool_calls" or "length".
[[nodiscard]] std::string_view finish_reason(ReplyEnd end, size_t calls);

}  // namespace sluice::text
