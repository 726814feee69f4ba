// Answers of OpenAI's Responses form: whole ones, and the events of streams that add up to them.
#include "server/responses_writer.h"

#include "server/json.h"
#include "server/new_id.h"
#include "server/openai_answer.h"
#include "server/reply_parts.h"
#include "server/responses_request.h"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;
using Kind = ReplyPart::Kind;

constexpr std::string_view kInProgress = "in_progress", kIncomplete = "incomplete",
                           kCompleted = "completed", kFailed = "failed";

class ResponseWriter final : public ReplyWriter, private ReplyPartSink {
 public:
  ResponseWriter(ResponseHead head, const ResponseTools& tools, const text::Tokenizer& tokenizer,
                 HttpReply& reply)
      : head_(std::move(head)),
        tools_(tools),
        tokenizer_(tokenizer),
        reply_(reply),
        events_(reply),
        parts_(*this) {}

  void begin() override {
    if (!head_.stream) return;
    events_.begin();
    send("response.created", {{"response", response(kInProgress)}});
    send("response.in_progress", {{"response", response(kInProgress)}});
  }

  void take(const ReplyUpdate& update) override {
    if (const auto* begun = std::get_if<ReplyBegun>(&update.what)) {
      begun_ = *begun;
    } else if (const auto* seen = std::get_if<TokenSeen>(&update.what)) {
      if (head_.logprobs && seen->channel == text::Channel::kContent) {
        untold_.push_back(logprob_json(tokenizer_, seen->chosen));
      }
    } else if (const auto* event = std::get_if<text::ReplyEvent>(&update.what)) {
      parts_.add(*event);
    } else if (const auto* ended = std::get_if<ReplyEnded>(&update.what)) {
      ended_ = *ended;
    }
  }

  // Codex takes a stream without events for dead after some minutes, whatever comments there are.
  void keep_alive(const engine::RequestProgress& progress) override {
    constexpr uint32_t kCommentsPerEvent = 6;
    if (!head_.stream) return;
    if (++kept_alive_ % kCommentsPerEvent == 0) {
      send("response.in_progress", {{"response", response(kInProgress)}});
    } else {
      events_.comment(progress.waiting ? fmt::format("waiting, {} ahead", progress.ahead)
                                       : std::string("keep-alive"));
    }
  }

  void end() override {
    parts_.finish();
    const std::string_view status = is_cut() ? kIncomplete : kCompleted;
    if (!head_.stream) return reply_.send({.body = json_text(response(status))});
    send(fmt::format("response.{}", status), {{"response", response(status)}});
  }

  void fail(const Problem& problem) override {
    if (!head_.stream) return reply_.send(problem_response(problem, Dialect::kOpenAi));
    error_ = json_object({{"code", "server_error"}, {"message", problem.message}});
    send("response.failed", {{"response", response(kFailed)}});
  }

 private:
  void begin_part(const ReplyPart& part) override {
    switch (part.kind) {
      case Kind::kReasoning:
        item_id_ = new_id("rs_");
        break;
      case Kind::kText:
        item_id_ = new_id("msg_");
        break;
      case Kind::kCall:
        item_id_ = new_id("fc_");
        call_id_ = new_id("call_");
    }
    send("response.output_item.added",
         {{"output_index", output_.size()}, {"item", item(part, kInProgress)}});
    if (part.kind == Kind::kCall) return;
    send_of_content("response.content_part.added", {{"part", content_json({part.kind})}});
  }

  void grow_part(const ReplyPart& part, std::string_view text) override {
    if (part.kind == Kind::kReasoning) {
      send_of_content("response.reasoning_text.delta", {{"delta", text}});
    } else if (part.kind == Kind::kCall) {
      send_of_item("response.function_call_arguments.delta", {{"delta", text}});
    } else {
      send_text(text);
    }
  }

  // A call that was cut off is shown at the end only, as incomplete: clients run those that a
  // stream says are done.
  void end_part(const ReplyPart& part) override {
    if (part.kind == Kind::kText && !untold_.empty()) send_text("");
    const JsonValue done = item(part, is_cut() ? kIncomplete : kCompleted);
    if (part.kind != Kind::kCall || !is_cut()) send_done(part, done);
    output_.push_back(done);
    logprobs_.clear();
  }

  // `text` with the probabilities of the tokens up to its end.
  void send_text(std::string_view text) {
    const std::vector<JsonValue> told = std::exchange(untold_, {});
    send_of_content("response.output_text.delta",
                    {{"delta", text}, {"logprobs", json_array(told)}});
    logprobs_.insert(logprobs_.end(), told.begin(), told.end());
  }

  void send_done(const ReplyPart& part, const JsonValue& done) {
    if (part.kind == Kind::kReasoning) {
      send_of_content("response.reasoning_text.done", {{"text", part.text}});
    } else if (part.kind == Kind::kText) {
      send_of_content("response.output_text.done",
                      {{"text", part.text}, {"logprobs", json_array(logprobs_)}});
    } else {
      send_of_item("response.function_call_arguments.done",
                   {{"name", tools_.client_name(part.name).name}, {"arguments", part.text}});
    }
    if (part.kind != Kind::kCall) {
      send_of_content("response.content_part.done", {{"part", content_json(part)}});
    }
    send("response.output_item.done", {{"output_index", output_.size()}, {"item", done}});
  }

  // The item that a part makes.
  [[nodiscard]] JsonValue item(const ReplyPart& part, std::string_view status) const {
    if (part.kind == Kind::kCall) return call_item(part, status);
    const std::vector<JsonValue> content =
        part.text.empty() ? std::vector<JsonValue>{} : std::vector{content_json(part)};
    if (part.kind == Kind::kText) {
      return json_object({{"id", item_id_},
                          {"type", "message"},
                          {"status", status},
                          {"role", "assistant"},
                          {"content", json_array(content)}});
    }
    const JsonValue kept = head_.encrypted && status != kInProgress
                               ? to_json(std::string(kReasoningPrefix) + part.text)
                               : JsonValue();
    return json_object({{"id", item_id_},
                        {"type", "reasoning"},
                        {"status", status},
                        {"summary", json_array()},
                        {"content", json_array(content)},
                        {"encrypted_content", kept}});
  }

  [[nodiscard]] JsonValue call_item(const ReplyPart& part, std::string_view status) const {
    const ResponseTools::Name name = tools_.client_name(part.name);
    JsonValue call = json_object({{"id", item_id_},
                                  {"type", "function_call"},
                                  {"status", status},
                                  {"call_id", call_id_},
                                  {"name", name.name},
                                  {"arguments", part.text}});
    if (!name.space.empty()) add_member(call, {"namespace", name.space});
    return call;
  }

  [[nodiscard]] JsonValue content_json(const ReplyPart& part) const {
    if (part.kind == Kind::kReasoning) {
      return json_object({{"type", "reasoning_text"}, {"text", part.text}});
    }
    return json_object({{"type", "output_text"},
                        {"text", part.text},
                        {"annotations", json_array()},
                        {"logprobs", json_array(logprobs_)}});
  }

  // An event of a stream.
  void send(std::string_view type, std::initializer_list<JsonMember> members) {
    if (!head_.stream) return;
    JsonValue event = json_object({{"type", type}, {"sequence_number", sequence_++}});
    for (const JsonMember& member : members) add_member(event, member);
    events_.event(type, json_text(event));
  }

  void send_of_item(std::string_view type, std::vector<JsonMember> members) {
    if (!head_.stream) return;
    JsonValue event = json_object({{"type", type},
                                   {"sequence_number", sequence_++},
                                   {"item_id", item_id_},
                                   {"output_index", output_.size()}});
    for (JsonMember& member : members) add_member(event, std::move(member));
    events_.event(type, json_text(event));
  }

  void send_of_content(std::string_view type, std::vector<JsonMember> members) {
    members.insert(members.begin(), {"content_index", 0});
    send_of_item(type, std::move(members));
  }

  [[nodiscard]] bool is_cut() const { return ended_ && ended_->end == text::ReplyEnd::kCut; }

  [[nodiscard]] JsonValue response(std::string_view status) const {
    const JsonValue details =
        status == kIncomplete ? json_object({{"reason", "max_output_tokens"}}) : JsonValue();
    JsonValue response = json_object({{"id", head_.id},
                                      {"object", "response"},
                                      {"created_at", head_.created},
                                      {"status", status},
                                      {"error", error_},
                                      {"incomplete_details", details},
                                      {"model", head_.model},
                                      {"output", json_array(output_)},
                                      {"usage", ended_ ? usage(*ended_) : JsonValue()}});
    for (size_t i = 0; i < head_.echo.keys.size(); ++i) {
      add_member(response, {head_.echo.keys[i], head_.echo.items[i]});
    }
    return response;
  }

  [[nodiscard]] JsonValue usage(const ReplyEnded& ended) const {
    return json_object(
        {{"input_tokens", begun_.prompt},
         {"input_tokens_details",
          json_object({{"cached_tokens", begun_.cached}, {"cache_write_tokens", 0}})},
         {"output_tokens", ended.generated},
         {"output_tokens_details", json_object({{"reasoning_tokens", ended.reasoning}})},
         {"total_tokens", begun_.prompt + ended.generated}});
  }

  const ResponseHead head_;
  const ResponseTools& tools_;
  const text::Tokenizer& tokenizer_;
  HttpReply& reply_;
  EventStream events_;
  ReplyParts parts_;
  std::vector<JsonValue> output_;             // The items that are complete.
  std::string item_id_, call_id_;             // Of the one under way.
  std::vector<JsonValue> logprobs_, untold_;  // Of its text; of tokens whose text is to come.
  uint64_t sequence_ = 0;                     // Of the next event.
  uint32_t kept_alive_ = 0;
  ReplyBegun begun_;
  std::optional<ReplyEnded> ended_;
  JsonValue error_;
};

}  // namespace

JsonValue echo_of(const Fields& request) {
  const JsonValue none;
  const std::pair<std::string_view, JsonValue> members[] = {
      {"background", to_json(false)},
      {"instructions", none},
      {"max_output_tokens", none},
      {"max_tool_calls", none},
      {"metadata", json_object({})},
      {"parallel_tool_calls", to_json(true)},
      {"previous_response_id", none},
      {"reasoning", json_object({{"effort", nullptr}, {"summary", nullptr}})},
      {"temperature", to_json(1.0)},
      {"text", json_object({{"format", json_object({{"type", "text"}})}})},
      {"tool_choice", to_json("auto")},
      {"tools", json_array()},
      {"top_logprobs", to_json(0)},
      {"top_p", to_json(1.0)},
      {"user", none},
  };
  JsonValue echo = json_object({{"store", false}, {"truncation", "disabled"}});
  for (const auto& [key, otherwise] : members) {
    const JsonValue* value = request.find(key);
    add_member(echo, {key, value ? *value : otherwise});
  }
  return echo;
}

std::unique_ptr<ReplyWriter> make_response_writer(ResponseHead head, const ResponseTools& tools,
                                                  const text::Tokenizer& tokenizer,
                                                  HttpReply& reply) {
  return std::make_unique<ResponseWriter>(std::move(head), tools, tokenizer, reply);
}

}  // namespace sluice::server
