// Kimi K3's chat format: which segments a conversation becomes.
#include "base/error.h"
#include "text/chat.h"
#include "text/chat_markup.h"
#include "text/unicode_classes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice::text {
namespace {

std::string fenced_json(std::string_view json) { return fmt::format("```json\n{}\n```", json); }

std::string_view name_of(Effort effort) {
  switch (effort) {
    case Effort::kLow:
      return "low";
    case Effort::kHigh:
      return "high";
    case Effort::kMax:
      return "max";
    case Effort::kNone:
      break;
  }
  return "";
}

// A tool result, and the call that it answers when its id names one.
struct ToolResult {
  const Message* message;
  const ToolCall* call;
  size_t call_index;
};

class Renderer {
 public:
  explicit Renderer(const ChatRequest& request) : request_(request) {}

  std::vector<ChatSegment> render_preamble() {
    preamble();
    return markup_.take();
  }

  std::vector<ChatSegment> render() {
    for (size_t i = preamble(); i < request_.messages.size();) {
      i = request_.messages[i].role == Role::kTool ? tool_results(i) : message(i);
    }
    tool_choice();
    response_format();
    if (request_.add_generation_prompt && !request_.continue_final_message) {
      markup_.open("message", {{"role", "assistant"}});
      markup_.open(request_.thinking ? "think" : "response");
    }
    return markup_.take();
  }

 private:
  // Returns the index of the first message that follows.
  size_t preamble() {
    if (!request_.tools.empty()) {
      markup_.internal("tool-declare",
                       "# Tools\nHere are the available tools, described in JSONSchema.\n\n" +
                           fenced_json(request_.tools));
    }
    if (request_.thinking && request_.effort != Effort::kNone) thinking_effort();
    size_t i = 0;
    while (i < request_.messages.size() && request_.messages[i].role == Role::kSystem) {
      i = message(i);
    }
    return i;
  }

  void thinking_effort() {
    markup_.internal(
        "thinking-effort",
        fmt::format("`thinking_effort` guides on how much to think in your thinking channel (not "
                    "including the response channel), supported values include `low`, `medium`, "
                    "`high`, and `max`.\nNow the system is invoked with `thinking_effort={}`.",
                    name_of(request_.effort)));
  }

  // Any message but a tool result. Returns the index of the next.
  size_t message(size_t i) {
    const Message& message = request_.messages[i];
    if (message.role == Role::kAssistant) {
      assistant(message, request_.continue_final_message && i + 1 == request_.messages.size());
    } else if (!message.tools.empty()) {
      markup_.internal(
          "tool-declare",
          "## New Tools Available\nThe system dynamically extends the toolset via lazy-loading.\n"
          "You have access to all existing and extended tools.\nHere are the specs for the "
          "extended tools.\n\n" +
              fenced_json(message.tools));
    } else {
      markup_.open_message(message.role == Role::kSystem ? "system" : "user", message.name);
      content(message);
      markup_.close_message();
    }
    return i + 1;
  }

  void content(const Message& message) {
    for (const std::string& part : message.content) markup_.text(part);
  }

  void assistant(const Message& message, bool leave_open) {
    calls_ = &message.tool_calls;
    results_ = 0;
    markup_.open_message("assistant", message.name);
    if (request_.thinking) {
      // Present in every turn, even when empty.
      markup_.open("think");
      if (!is_python_blank(message.reasoning)) markup_.text(message.reasoning);
      markup_.close("think");
    }
    markup_.open("response");
    content(message);
    if (leave_open) return;
    markup_.close("response");
    if (!message.tool_calls.empty()) {
      markup_.open("tools");
      for (size_t i = 0; i < message.tool_calls.size(); ++i) call(message.tool_calls[i], i + 1);
      markup_.close("tools");
    }
    markup_.close_message();
  }

  void call(const ToolCall& call, size_t index) {
    markup_.open("call", {{"tool", call.name}, {"index", std::to_string(index)}});
    if (call.broken_json) {
      markup_.open("json", {{"type", "object"}});
      markup_.text(*call.broken_json);
      markup_.close("json");
    } else {
      for (const ToolArgument& argument : call.arguments) {
        markup_.open("argument", {{"key", argument.key}, {"type", argument.type}});
        markup_.text(argument.value);
        markup_.close("argument");
      }
    }
    markup_.close("call");
  }

  // The run of tool results that begins at `i`, in the order of the calls when every one matches a
  // call, else as the client sent it. Returns the index after it.
  size_t tool_results(size_t i) {
    std::map<std::string_view, size_t> call_of_id;
    for (size_t call = 0; calls_ != nullptr && call < calls_->size(); ++call) {
      const std::optional<std::string>& id = (*calls_)[call].id;
      if (id) call_of_id.try_emplace(*id, call);
    }
    std::vector<ToolResult> run;
    bool all_match = true;
    for (; i < request_.messages.size() && request_.messages[i].role == Role::kTool; ++i) {
      const Message& message = request_.messages[i];
      const auto found =
          message.tool_call_id ? call_of_id.find(*message.tool_call_id) : call_of_id.end();
      const bool matches = found != call_of_id.end();
      all_match = all_match && matches;
      run.push_back(
          {&message, matches ? &(*calls_)[found->second] : nullptr, matches ? found->second : 0});
    }
    if (all_match) {
      // Results of one call stay in the client's order.
      std::sort(run.begin(), run.end(), [](const ToolResult& a, const ToolResult& b) {
        return std::pair(a.call_index, a.message) < std::pair(b.call_index, b.message);
      });
    }
    for (const ToolResult& result : run) {
      ++results_;
      const std::string name = all_match ? result.call->name : tool_name(*result.message);
      markup_.open("message",
                   {{"role", "tool"}, {"tool", name}, {"index", std::to_string(results_)}});
      content(*result.message);
      markup_.close_message();
    }
    return i;
  }

  // The name of a result that is told by its place: the client's, else that of the call in the same
  // place.
  std::string tool_name(const Message& message) const {
    if (message.tool_name) return *message.tool_name;
    if (calls_ != nullptr && results_ <= calls_->size()) return (*calls_)[results_ - 1].name;
    throw Error(ErrorCode::kInvalidInput,
                "messages[{}].tool_call_id: matches no tool call of the assistant, and no \"name\" "
                "says which tool the result is from",
                &message - request_.messages.data());
  }

  void tool_choice() {
    if (request_.tool_choice == ToolChoice::kRequired) {
      markup_.internal("tool-choice",
                       "The system is invoked with `tool_choice=required`.\n"
                       "You MUST call tools in the next message.");
    } else if (request_.tool_choice == ToolChoice::kNone) {
      markup_.internal("tool-choice",
                       "The system is invoked with `tool_choice=none`.\n"
                       "You MUST NOT call any tools in the next message.");
    }
  }

  void response_format() {
    if (request_.response_format == ResponseFormat::kText) return;
    const bool has_schema = request_.response_format == ResponseFormat::kJsonSchema;
    std::string body = fmt::format(
        "The system is invoked with `response_format={}`.\nYour response must be raw JSON data "
        "without markdown code blocks (```json) or any additional formatting.",
        has_schema ? "json_schema" : "json_object");
    if (has_schema) {
      body += "\nThe JSON data must match the following schema:\n" + fenced_json(request_.schema);
    }
    markup_.internal("response-format", body);
  }

  const ChatRequest& request_;
  ChatMarkup markup_;
  const std::vector<ToolCall>* calls_ = nullptr;  // Of the last assistant message.
  size_t results_ = 0;                            // Tool results since then.
};

}  // namespace

std::vector<ChatSegment> render_chat(const ChatRequest& request) {
  return Renderer(request).render();
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, const ChatRequest& request) {
  return encode_segments(tokenizer, render_chat(request));
}

size_t preamble_tokens(const Tokenizer& tokenizer, const ChatRequest& request) {
  return encode_segments(tokenizer, Renderer(request).render_preamble()).size();
}

}  // namespace sluice::text
