// Answers of Anthropic's Messages form: whole ones, and the events of streams that add up to them.
#include "server/anthropic_writer.h"

#include "server/json.h"
#include "server/new_id.h"
#include "server/reply_parts.h"

#include <string_view>
#include <utility>
#include <vector>

namespace sluice::server {
namespace {

using text::JsonValue;
using Kind = ReplyPart::Kind;

bool is_object(const std::string& json) {
  const text::JsonParse parsed = text::parse_json(json);
  return parsed.value && parsed.value->kind == JsonValue::Kind::kObject;
}

// The arguments of a call as the text of a JSON object, whatever the model wrote.
std::string input_text(const std::string& arguments) {
  if (arguments.empty()) return "{}";
  return is_object(arguments) ? arguments : json_text(json_object({{"_raw", arguments}}));
}

// A value that is written as this text: numbers keep their digits.
JsonValue verbatim(std::string json) {
  return {.kind = JsonValue::Kind::kNumber, .text = std::move(json)};
}

// Whether arguments that begin so will be a JSON object: those that came one by one have been made
// one, and begin with a whole key. A text that the model wrote as JSON may turn out to be none.
bool is_surely_object(std::string_view beginning) {
  if (!beginning.starts_with("{\"")) return false;
  return is_object(std::string(beginning) + "\"}") || is_object(std::string(beginning) + "}");
}

JsonValue block_json(const ReplyPart& part, const std::string& call_id, JsonValue input) {
  switch (part.kind) {
    case Kind::kReasoning:
      return json_object({{"type", "thinking"}, {"thinking", part.text}, {"signature", ""}});
    case Kind::kText:
      return json_object({{"type", "text"}, {"text", part.text}});
    case Kind::kCall:
      break;
  }
  return json_object(
      {{"type", "tool_use"}, {"id", call_id}, {"name", part.name}, {"input", input}});
}

std::string_view stop_reason(const ReplyEnded& ended) {
  switch (ended.end) {
    case text::ReplyEnd::kByItself:
      break;
    case text::ReplyEnd::kStopString:
      return "stop_sequence";
    case text::ReplyEnd::kCut:
      return "max_tokens";
  }
  return ended.calls > 0 ? "tool_use" : "end_turn";
}

class MessageWriter final : public ReplyWriter, private ReplyPartSink {
 public:
  MessageWriter(MessageHead head, HttpReply& reply)
      : head_(std::move(head)), reply_(reply), events_(reply), parts_(*this) {
    begun_.prompt = head_.prompt;
  }

  void begin() override {
    if (!head_.stream) return;
    events_.begin();
    send("message_start", {{"message", message(JsonValue(), JsonValue())}});
    send("ping", {});
  }

  void take(const ReplyUpdate& update) override {
    if (const auto* begun = std::get_if<ReplyBegun>(&update.what)) {
      begun_ = *begun;
    } else if (const auto* event = std::get_if<text::ReplyEvent>(&update.what)) {
      parts_.add(*event);
    } else if (const auto* ended = std::get_if<ReplyEnded>(&update.what)) {
      ended_ = *ended;
    }
  }

  void keep_alive(const engine::RequestProgress&) override { send("ping", {}); }

  void end() override {
    parts_.finish();
    const JsonValue reason = to_json(stop_reason(ended_));
    const bool has_sequence = ended_.end == text::ReplyEnd::kStopString;
    const JsonValue sequence = has_sequence ? to_json(ended_.stop_string) : JsonValue();
    if (!head_.stream) return reply_.send({.body = json_text(message(reason, sequence))});
    send("message_delta",
         {{"delta", json_object({{"stop_reason", reason}, {"stop_sequence", sequence}})},
          {"usage", usage()}});
    send("message_stop", {});
  }

  void fail(const Problem& problem) override {
    if (!head_.stream) return reply_.send(problem_response(problem, Dialect::kAnthropic));
    events_.event("error", problem_json(problem, Dialect::kAnthropic));
  }

 private:
  void begin_part(const ReplyPart& part) override {
    if (part.kind == Kind::kCall) call_id_ = new_id("toolu_");
    streams_input_ = false;
    send("content_block_start",
         {{"index", content_.size()},
          {"content_block", block_json({part.kind, part.name}, call_id_, json_object({}))}});
  }

  void grow_part(const ReplyPart& part, std::string_view text) override {
    if (part.kind == Kind::kReasoning) {
      send_delta("thinking_delta", "thinking", text);
    } else if (part.kind == Kind::kText) {
      send_delta("text_delta", "text", text);
    } else if (streams_input_) {
      send_delta("input_json_delta", "partial_json", text);
    } else if (part.text.size() == text.size() && is_surely_object(text)) {
      streams_input_ = true;
      send_delta("input_json_delta", "partial_json", text);
    }
  }

  void end_part(const ReplyPart& part) override {
    JsonValue input;
    if (part.kind == Kind::kCall) {
      input = verbatim(input_text(part.text));
      if (!streams_input_) send_delta("input_json_delta", "partial_json", input.text);
    } else if (part.kind == Kind::kReasoning) {
      send_delta("signature_delta", "signature", "");
    }
    send("content_block_stop", {{"index", content_.size()}});
    content_.push_back(block_json(part, call_id_, std::move(input)));
  }

  void send_delta(std::string_view type, std::string_view key, std::string_view text) {
    send("content_block_delta",
         {{"index", content_.size()}, {"delta", json_object({{"type", type}, {key, text}})}});
  }

  // An event of a stream.
  void send(std::string_view type, std::initializer_list<JsonMember> members) {
    if (!head_.stream) return;
    JsonValue event = json_object({{"type", type}});
    for (const JsonMember& member : members) add_member(event, member);
    events_.event(type, json_text(event));
  }

  [[nodiscard]] JsonValue message(const JsonValue& reason, const JsonValue& sequence) const {
    return json_object({{"id", head_.id},
                        {"type", "message"},
                        {"role", "assistant"},
                        {"model", head_.model},
                        {"content", json_array(content_)},
                        {"stop_reason", reason},
                        {"stop_sequence", sequence},
                        {"usage", usage()}});
  }

  [[nodiscard]] JsonValue usage() const {
    return json_object(
        {{"input_tokens", begun_.prompt - begun_.cached},
         {"cache_creation_input_tokens", 0},
         {"cache_read_input_tokens", begun_.cached},
         {"output_tokens", ended_.generated},
         {"output_tokens_details", json_object({{"thinking_tokens", ended_.reasoning}})}});
  }

  const MessageHead head_;
  HttpReply& reply_;
  EventStream events_;
  ReplyParts parts_;
  std::vector<JsonValue> content_;  // The blocks that are complete.
  std::string call_id_;             // Of the last call,
  bool streams_input_ = false;      // whose arguments are sent as they come.
  ReplyBegun begun_;
  ReplyEnded ended_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_message_writer(MessageHead head, HttpReply& reply) {
  return std::make_unique<MessageWriter>(std::move(head), reply);
}

}  // namespace sluice::server
