#include "server/openai_completions_writer.h"

#include "server/json.h"

#include <algorithm>
#include <utility>

namespace sluice::server {
namespace {

using text::JsonValue;
using text::ReplyEvent;

constexpr std::string_view kObject = "text_completion";

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// The tokens of one choice with their probabilities, in four lists.
class TextLogprobs {
 public:
  void take(const text::Tokenizer& tokenizer, const engine::TokenChosen& chosen) {
    const std::string_view bytes = tokenizer.bytes(chosen.token);
    tokens_.push_back(to_json(token_text(tokenizer, chosen.token)));
    logprobs_.push_back(to_json(finite_logprob(chosen.logprob)));
    tops_.push_back(top_json(tokenizer, chosen));
    // That of the character that the token begins in.
    const bool is_inside = !bytes.empty() && continues_character(bytes.front()) && characters_ > 0;
    offsets_.push_back(to_json(characters_ - (is_inside ? 1 : 0)));
    const auto inside = std::ranges::count_if(bytes, continues_character);
    characters_ += bytes.size() - static_cast<size_t>(inside);
  }

  [[nodiscard]] bool empty() const { return tokens_.empty(); }

  // What has come since the last time.
  JsonValue take_json() {
    return json_object({{"tokens", json_array(std::exchange(tokens_, {}))},
                        {"token_logprobs", json_array(std::exchange(logprobs_, {}))},
                        {"top_logprobs", json_array(std::exchange(tops_, {}))},
                        {"text_offset", json_array(std::exchange(offsets_, {}))}});
  }

 private:
  // The token that was chosen is among them in any case.
  static JsonValue top_json(const text::Tokenizer& tokenizer, const engine::TokenChosen& chosen) {
    JsonValue top = json_object({});
    const auto add = [&](TokenId token, float logprob) {
      const std::string text = token_text(tokenizer, token);
      // Parts of characters may look the same; the most probable one stands for them.
      if (top.find(text) == nullptr) add_member(top, {text, finite_logprob(logprob)});
    };
    for (const engine::TokenLogprob& other : chosen.top) add(other.token, other.logprob);
    add(chosen.token, chosen.logprob);
    return top;
  }

  std::vector<JsonValue> tokens_, logprobs_, tops_, offsets_;
  size_t characters_ = 0;  // Of the text so far.
};

// The part that an answer and its chunks have in common.
class CompletionWriter : public ReplyWriter {
 public:
  CompletionWriter(CompletionForm form, AnswerHead head, const text::Tokenizer& tokenizer)
      : form_(std::move(form)),
        head_(std::move(head)),
        tally_(form_.common.choices, static_cast<uint32_t>(form_.echo.size())),
        tokenizer_(tokenizer),
        untold_(form_.common.choices * form_.echo.size()) {}

  void take(const ReplyUpdate& update) final {
    tally_.take(update);
    if (const auto* seen = std::get_if<TokenSeen>(&update.what)) {
      take_token(untold_[update.choice], *seen);
    } else if (const auto* event = std::get_if<ReplyEvent>(&update.what)) {
      take_text(update.choice, event->text);
    } else if (const auto* ended = std::get_if<ReplyEnded>(&update.what)) {
      take_end(update.choice, *ended);
    }
  }

 protected:
  virtual void take_text(uint32_t choice, const std::string& text) = 0;
  virtual void take_end(uint32_t choice, const ReplyEnded& ended) = 0;

  [[nodiscard]] uint32_t choices() const { return static_cast<uint32_t>(untold_.size()); }
  [[nodiscard]] const std::string& echo(uint32_t choice) const {
    return form_.echo[choice / form_.common.choices];
  }

  [[nodiscard]] bool has_logprobs(uint32_t choice) const {
    return !untold_[choice].logprobs.empty();
  }
  JsonValue take_logprobs(uint32_t choice) { return untold_[choice].logprobs.take_json(); }

  void add_token_ids(uint32_t choice, JsonValue& object) {
    if (!form_.common.token_ids) return;
    add_member(object, {"token_ids", ids_json(std::exchange(untold_[choice].ids, {}))});
  }
  void add_prompt_ids(uint32_t choice, JsonValue& object) const {
    if (!form_.common.token_ids) return;
    add_member(object,
               {"prompt_token_ids", ids_json(form_.prompts[choice / form_.common.choices])});
  }

  const CompletionForm form_;
  const AnswerHead head_;
  ReplyTally tally_;

 private:
  struct Untold {
    TextLogprobs logprobs;
    std::vector<TokenId> ids;
  };

  void take_token(Untold& untold, const TokenSeen& seen) {
    if (form_.common.token_ids) untold.ids.push_back(seen.chosen.token);
    if (form_.common.logprobs && seen.channel == text::Channel::kContent) {
      untold.logprobs.take(tokenizer_, seen.chosen);
    }
  }

  const text::Tokenizer& tokenizer_;
  std::vector<Untold> untold_;  // By choice.
};

class WholeCompletionWriter final : public CompletionWriter {
 public:
  WholeCompletionWriter(CompletionForm form, AnswerHead head, const text::Tokenizer& tokenizer,
                        HttpReply& reply)
      : CompletionWriter(std::move(form), std::move(head), tokenizer),
        reply_(reply),
        choices_(choices()) {}

  void begin() override {}
  void keep_alive(const engine::RequestProgress&) override {}
  void fail(const Problem& problem) override {
    reply_.send(problem_response(problem, Dialect::kOpenAi));
  }

  void end() override {
    std::vector<JsonValue> list;
    for (uint32_t choice = 0; choice < choices(); ++choice) list.push_back(choice_json(choice));
    JsonValue body = answer_json(head_, kObject);
    add_member(body, {"choices", json_array(std::move(list))});
    const ReplyTotals totals = tally_.totals();
    add_member(body, {"usage", usage_json(totals)});
    add_member(body, {"timings", timings_json(totals)});
    reply_.send({.body = json_text(body)});
  }

 private:
  struct Choice {
    std::string text;
    ReplyEnded ended;
  };

  void take_text(uint32_t choice, const std::string& text) override {
    choices_[choice].text += text;
  }
  void take_end(uint32_t choice, const ReplyEnded& ended) override {
    choices_[choice].ended = ended;
  }

  JsonValue choice_json(uint32_t index) {
    const Choice& choice = choices_[index];
    JsonValue json = json_object({{"index", index}, {"text", echo(index) + choice.text}});
    add_member(json, {"logprobs", form_.common.logprobs ? take_logprobs(index) : JsonValue{}});
    add_end(choice.ended, json);
    add_token_ids(index, json);
    add_prompt_ids(index, json);
    return json;
  }

  HttpReply& reply_;
  std::vector<Choice> choices_;
};

class StreamedCompletionWriter final : public CompletionWriter {
 public:
  StreamedCompletionWriter(CompletionForm form, AnswerHead head, const text::Tokenizer& tokenizer,
                           HttpReply& reply)
      : CompletionWriter(std::move(form), std::move(head), tokenizer),
        stream_(reply, head_, form_.common, tally_, kObject) {}

  // Chunks at once are for what is known already.
  void begin() override {
    stream_.begin();
    for (uint32_t choice = 0; choice < choices(); ++choice) {
      if (echo(choice).empty() && !form_.common.token_ids) continue;
      JsonValue json = choice_json(choice, echo(choice), {});
      add_prompt_ids(choice, json);
      stream_.write(stream_.chunk(std::move(json)));
    }
  }

  void keep_alive(const engine::RequestProgress& progress) override {
    stream_.keep_alive(progress);
  }
  void progress(const engine::RequestProgress& progress) override {
    stream_.write_progress(choice_json(0, "", {}), progress);
  }
  void end() override { stream_.end(); }
  void fail(const Problem& problem) override { stream_.fail(problem); }

 private:
  void take_text(uint32_t choice, const std::string& text) override {
    JsonValue json =
        choice_json(choice, text, has_logprobs(choice) ? take_logprobs(choice) : JsonValue{});
    add_token_ids(choice, json);
    stream_.write(stream_.chunk(std::move(json)));
  }

  void take_end(uint32_t choice, const ReplyEnded& ended) override {
    JsonValue last = json_object({{"index", choice}, {"text", ""}});
    add_member(last, {"logprobs", has_logprobs(choice) ? take_logprobs(choice) : JsonValue{}});
    add_end(ended, last);
    add_token_ids(choice, last);
    stream_.write(stream_.chunk(std::move(last)));
  }

  static JsonValue choice_json(uint32_t choice, const std::string& text, JsonValue logprobs) {
    return json_object({{"index", choice},
                        {"text", text},
                        {"logprobs", std::move(logprobs)},
                        {"finish_reason", nullptr}});
  }

  ChunkStream stream_;
};

}  // namespace

std::unique_ptr<ReplyWriter> make_completion_writer(CompletionForm form, AnswerHead head,
                                                    const text::Tokenizer& tokenizer,
                                                    HttpReply& reply) {
  if (form.common.stream) {
    return std::make_unique<StreamedCompletionWriter>(std::move(form), std::move(head), tokenizer,
                                                      reply);
  }
  return std::make_unique<WholeCompletionWriter>(std::move(form), std::move(head), tokenizer,
                                                 reply);
}

}  // namespace sluice::server
