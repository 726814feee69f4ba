#include "server/openai_completions.h"

#include "server/fields.h"
#include "server/handler.h"
#include "server/openai_answer.h"
#include "text/incremental_decoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;
using Kind = JsonValue::Kind;

constexpr size_t kRepliesMax = 1024;

// The prompts of a request, as tokens. A text is taken as it is: spellings of control tokens in it
// are text unless the client says otherwise.
class PromptReader {
 public:
  PromptReader(const Fields& fields, const text::Tokenizer& tokenizer)
      : fields_(fields), tokenizer_(tokenizer) {
    const bool has_control_tokens = fields.boolean("parse_special").value_or(false) ||
                                    fields.boolean("add_special_tokens").value_or(false);
    specials_ = has_control_tokens ? text::Specials::kOn : text::Specials::kOff;
  }

  [[nodiscard]] std::vector<std::vector<TokenId>> read() const {
    const JsonValue* prompt = fields_.find("prompt");
    if (prompt == nullptr) fields_.refuse("prompt", kExpected);
    if (prompt->kind == Kind::kString) return {encode(prompt->text, "prompt")};
    if (prompt->kind != Kind::kArray || prompt->items.empty()) fields_.refuse("prompt", kExpected);
    if (prompt->items.front().kind == Kind::kNumber) {
      return {fields_.ids("prompt", tokenizer_.vocab_size())};
    }
    std::vector<std::vector<TokenId>> prompts;
    for (const JsonValue& item : prompt->items) prompts.push_back(read_item(item, prompts.size()));
    return prompts;
  }

 private:
  static constexpr std::string_view kExpected =
      "must be a string, an array of strings, an array of token ids or an array of such arrays";

  [[nodiscard]] std::vector<TokenId> read_item(const JsonValue& item, size_t index) const {
    const std::string field = fmt::format("prompt[{}]", index);
    if (item.kind == Kind::kString) return encode(item.text, field);
    if (item.kind != Kind::kArray) fields_.refuse("prompt", kExpected);
    if (item.items.empty()) fields_.refuse(field, kEmpty);
    const JsonValue named{.kind = Kind::kObject, .keys = {field}, .items = {item}};
    return Fields(named).ids(field, tokenizer_.vocab_size());
  }

  [[nodiscard]] std::vector<TokenId> encode(const std::string& text, std::string_view field) const {
    if (text.empty()) fields_.refuse(field, kEmpty);
    return tokenizer_.encode(text, specials_);
  }

  static constexpr std::string_view kEmpty = "must not be empty";

  const Fields& fields_;
  const text::Tokenizer& tokenizer_;
  text::Specials specials_;
};

std::string text_of(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  text::IncrementalDecoder decoder;
  std::string text;
  for (const TokenId token : tokens) text += decoder.push(tokenizer.bytes(token));
  return text += decoder.finish();
}

void refuse_what_is_for_chats(const Fields& fields) {
  const auto suffix = fields.string("suffix");
  if (suffix && !suffix->empty()) {
    fields.refuse("suffix", "is not supported; the model only continues a text");
  }
  const std::optional<Fields> format = fields.object("response_format");
  if (format && format->string("type").value_or("text") != "text") {
    fields.refuse("response_format", "is not supported here; use chat completions");
  }
}

void read_logprobs(const Fields& fields, ReplyOrder& order) {
  constexpr int64_t kTopMax = 5;
  const std::optional<int64_t> top = fields.integer("logprobs", 0, kTopMax);
  order.logprobs = top.has_value();
  order.top_logprobs = static_cast<uint32_t>(top.value_or(0));
}

}  // namespace

Completion read_completion(const JsonValue& body, const text::Tokenizer& tokenizer) {
  const Fields fields(body);
  refuse_what_is_for_chats(fields);
  Completion completion;
  ReplyOrder& order = completion.order;
  std::vector<std::vector<TokenId>> prompts = PromptReader(fields, tokenizer).read();
  read_sampling(fields, tokenizer.vocab_size(), order);
  read_logprobs(fields, order);
  read_max_tokens(fields, "max_tokens", order);
  if (prompts.size() * order.choices > kRepliesMax) {
    fields.refuse("prompt", fmt::format("asks for more than {} replies at once", kRepliesMax));
  }

  CompletionForm& form = completion.form;
  form.common = read_form(fields);
  form.common.choices = order.choices;
  form.common.logprobs = order.logprobs;
  const bool echo = fields.boolean("echo").value_or(false);
  if (echo && order.logprobs) {
    fields.refuse("echo", "cannot be used with logprobs: only the tokens of the reply have them");
  }
  for (const std::vector<TokenId>& prompt : prompts) {
    form.echo.push_back(echo ? text_of(tokenizer, prompt) : "");
  }
  if (form.common.token_ids) form.prompts = prompts;
  order.prompt = std::move(prompts.front());
  prompts.erase(prompts.begin());
  order.more_prompts = std::move(prompts);
  return completion;
}

void handle_completions(const HandlerContext& context, const HttpRequest& request,
                        HttpReply& reply) {
  const JsonValue body = parse_body(request.body);
  if (const std::optional<Problem> problem = wrong_model(context, Fields(body))) {
    return reply.send(problem_response(*problem, Dialect::kOpenAi));
  }
  const ServedModel& model = context.model;
  Completion completion = read_completion(body, model.tokenizer);
  const auto writer = make_completion_writer(std::move(completion.form), new_answer(model, "cmpl-"),
                                             model.tokenizer, reply);
  answer(context, std::move(completion.order), *writer, reply, Dialect::kOpenAi);
}

}  // namespace sluice::server
