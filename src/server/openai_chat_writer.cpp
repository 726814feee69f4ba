#include "server/openai_chat_writer.h"

#include "server/json.h"
#include "server/new_id.h"

#include <string>
#include <utility>

namespace sluice::server {
namespace {

using text::JsonValue;
using text::ReplyEvent;

// The part that an answer and its chunks have in common.
class ChatWriter : public ReplyWriter {
 public:
  ChatWriter(ChatForm form, AnswerHead head, const text::Tokenizer& tokenizer)
      : form_(std::move(form)),
        head_(std::move(head)),
        tally_(form_.common.choices),
        tokenizer_(tokenizer),
        untold_(form_.common.choices) {}

  void take(const ReplyUpdate& update) final {
    tally_.take(update);
    if (const auto* seen = std::get_if<TokenSeen>(&update.what)) {
      take_token(update.choice, *seen);
    } else if (const auto* event = std::get_if<ReplyEvent>(&update.what)) {
      const bool hidden = event->kind == ReplyEvent::Kind::kReasoning && !form_.reasoning;
      if (!hidden) take_event(update.choice, *event);
    } else if (const auto* ended = std::get_if<ReplyEnded>(&update.what)) {
      take_end(update.choice, *ended);
    }
  }

 protected:
  virtual void take_event(uint32_t choice, const ReplyEvent& event) = 0;
  virtual void take_end(uint32_t choice, const ReplyEnded& ended) = 0;

  // The probabilities that nothing has told yet.
  JsonValue take_logprobs(uint32_t choice) {
    return json_object({{"content", json_array(std::exchange(untold_[choice].logprobs, {}))},
                        {"refusal", nullptr}});
  }
  [[nodiscard]] bool has_logprobs(uint32_t choice) const {
    return !untold_[choice].logprobs.empty();
  }

  void add_token_ids(uint32_t choice, JsonValue& object) {
    if (!form_.common.token_ids) return;
    add_member(object, {"token_ids", ids_json(std::exchange(untold_[choice].ids, {}))});
  }

  const ChatForm form_;
  const AnswerHead head_;
  ReplyTally tally_;

 private:
  struct Untold {
    std::vector<JsonValue> logprobs;  // Of the content.
    std::vector<TokenId> ids;
  };

  void take_token(uint32_t choice, const TokenSeen& seen) {
    if (form_.common.token_ids) untold_[choice].ids.push_back(seen.chosen.token);
    if (form_.common.logprobs && seen.channel == text::Channel::kContent) {
      untold_[choice].logprobs.push_back(logprob_json(tokenizer_, seen.chosen));
    }
  }

  const text::Tokenizer& tokenizer_;
  std::vector<Untold> untold_;  // By choice.
};

JsonValue call_json(const std::string& id, const std::string& name, const std::string& arguments) {
  return json_object({{"id", id},
                      {"type", "function"},
                      {"function", json_object({{"name", name}, {"arguments", arguments}})}});
}

class WholeChatWriter final : public ChatWriter {
 public:
  WholeChatWriter(ChatForm form, AnswerHead head, const text::Tokenizer& tokenizer,
                  HttpReply& reply)
      : ChatWriter(std::move(form), std::move(head), tokenizer),
        reply_(reply),
        choices_(form_.common.choices) {}

  void begin() override {}
  void keep_alive(const engine::RequestProgress&) override {}
  void fail(const Problem& problem) override {
    reply_.send(problem_response(problem, Dialect::kOpenAi));
  }

  void end() override {
    std::vector<JsonValue> choices;
    for (uint32_t choice = 0; choice < choices_.size(); ++choice) {
      choices.push_back(choice_json(choice));
    }
    JsonValue body = answer_json(head_, "chat.completion");
    add_member(body, {"choices", json_array(std::move(choices))});
    const ReplyTotals totals = tally_.totals();
    add_member(body, {"usage", usage_json(totals)});
    add_member(body, {"timings", timings_json(totals)});
    if (form_.common.token_ids) add_member(body, {"prompt_token_ids", ids_json(form_.prompt)});
    reply_.send({.body = json_text(body)});
  }

 private:
  struct Choice {
    text::Reply reply;
    ReplyEnded ended;
  };

  void take_event(uint32_t choice, const ReplyEvent& event) override {
    choices_[choice].reply.add(event);
  }
  void take_end(uint32_t choice, const ReplyEnded& ended) override {
    choices_[choice].ended = ended;
  }

  JsonValue choice_json(uint32_t index) {
    const Choice& choice = choices_[index];
    JsonValue json = json_object({{"index", index}, {"message", message_json(choice.reply)}});
    add_member(json, {"logprobs", form_.common.logprobs ? take_logprobs(index) : JsonValue{}});
    add_end(choice.ended, json);
    add_token_ids(index, json);
    return json;
  }

  [[nodiscard]] JsonValue message_json(const text::Reply& reply) const {
    const bool calls_only = reply.content.empty() && !reply.calls.empty();
    JsonValue message = json_object({{"role", "assistant"},
                                     {"content", calls_only ? JsonValue{} : to_json(reply.content)},
                                     {"refusal", nullptr}});
    if (form_.reasoning) {
      const JsonValue reasoning = reply.reasoning.empty() ? JsonValue{} : to_json(reply.reasoning);
      add_member(message, {"reasoning_content", reasoning});
      add_member(message, {"reasoning", reasoning});
    }
    if (reply.calls.empty()) return message;
    std::vector<JsonValue> calls;
    for (const text::ReplyCall& call : reply.calls) {
      calls.push_back(call_json(new_id("call_"), call.name, call.arguments));
    }
    add_member(message, {"tool_calls", json_array(std::move(calls))});
    return message;
  }

  HttpReply& reply_;
  std::vector<Choice> choices_;
};

class StreamedChatWriter final : public ChatWriter {
 public:
  StreamedChatWriter(ChatForm form, AnswerHead head, const text::Tokenizer& tokenizer,
                     HttpReply& reply)
      : ChatWriter(std::move(form), std::move(head), tokenizer),
        stream_(reply, head_, form_.common, tally_, "chat.completion.chunk") {}

  void begin() override {
    stream_.begin();
    for (uint32_t choice = 0; choice < form_.common.choices; ++choice) {
      JsonValue chunk =
          stream_.chunk(choice_json(choice, json_object({{"role", "assistant"}, {"content", ""}})));
      if (choice == 0 && form_.common.token_ids) {
        add_member(chunk, {"prompt_token_ids", ids_json(form_.prompt)});
      }
      stream_.write(chunk);
    }
  }

  void keep_alive(const engine::RequestProgress& progress) override {
    stream_.keep_alive(progress);
  }
  void progress(const engine::RequestProgress& progress) override {
    stream_.write_progress(choice_json(0, json_object({})), progress);
  }
  void end() override { stream_.end(); }
  void fail(const Problem& problem) override { stream_.fail(problem); }

 private:
  void take_event(uint32_t choice, const ReplyEvent& event) override {
    switch (event.kind) {
      case ReplyEvent::Kind::kReasoning:
        return write(choice,
                     json_object({{"reasoning_content", event.text}, {"reasoning", event.text}}));
      case ReplyEvent::Kind::kContent:
        return write(choice, json_object({{"content", event.text}}), has_logprobs(choice));
      case ReplyEvent::Kind::kCallBegun:
        return write_call(choice, event.call, call_json(new_id("call_"), event.text, ""));
      case ReplyEvent::Kind::kArguments:
        return write_call(choice, event.call,
                          json_object({{"function", json_object({{"arguments", event.text}})}}));
      case ReplyEvent::Kind::kReasoningWasContent:  // ReplyReader tells it as content.
      case ReplyEvent::Kind::kCallEnded:
        break;
    }
  }

  void take_end(uint32_t choice, const ReplyEnded& ended) override {
    JsonValue last = json_object({{"index", choice}, {"delta", json_object({})}});
    add_member(last, {"logprobs", has_logprobs(choice) ? take_logprobs(choice) : JsonValue{}});
    add_end(ended, last);
    add_token_ids(choice, last);
    stream_.write(stream_.chunk(std::move(last)));
  }

  void write_call(uint32_t choice, size_t index, const JsonValue& part) {
    JsonValue call = json_object({{"index", index}});
    for (size_t i = 0; i < part.keys.size(); ++i) add_member(call, {part.keys[i], part.items[i]});
    write(choice, json_object({{"tool_calls", json_array({std::move(call)})}}));
  }

  void write(uint32_t choice, JsonValue delta, bool with_logprobs = false) {
    JsonValue json =
        choice_json(choice, std::move(delta), with_logprobs ? take_logprobs(choice) : JsonValue{});
    add_token_ids(choice, json);
    stream_.write(stream_.chunk(std::move(json)));
  }

  static JsonValue choice_json(uint32_t choice, JsonValue delta, JsonValue logprobs = {}) {
    return json_object({{"index", choice},
                        {"delta", std::move(delta)},
                        {"logprobs", std::move(logprobs)},
                        {"finish_reason", nullptr}});
  }

  ChunkStream stream_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_chat_writer(ChatForm form, AnswerHead head,
                                              const text::Tokenizer& tokenizer, HttpReply& reply) {
  if (form.common.stream) {
    return std::make_unique<StreamedChatWriter>(std::move(form), std::move(head), tokenizer, reply);
  }
  return std::make_unique<WholeChatWriter>(std::move(form), std::move(head), tokenizer, reply);
}

}  // namespace sluice::server
