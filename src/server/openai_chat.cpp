#include "server/openai_chat.h"

#include "server/fields.h"
#include "server/handler.h"
#include "server/json.h"
#include "server/openai_answer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::server {
namespace {

using text::JsonValue;

constexpr std::string_view kTextOnly = "is not supported; this server writes text only";

void refuse_what_is_not_text(const Fields& fields) {
  const std::vector<std::string> modalities = fields.strings("modalities");
  if (std::ranges::any_of(modalities, [](const auto& modality) { return modality != "text"; })) {
    fields.refuse("modalities", kTextOnly);
  }
  if (fields.find("audio") != nullptr) fields.refuse("audio", kTextOnly);
  if (fields.find("web_search_options") != nullptr) {
    fields.refuse("web_search_options", "is not supported; declare a tool that searches");
  }
  if (fields.boolean("echo").value_or(false)) {
    fields.refuse("echo", "is not supported here; completions have it");
  }
}

void read_logprobs(const Fields& fields, ReplyOrder& order) {
  constexpr int64_t kTopMax = 20;
  order.logprobs = fields.boolean("logprobs").value_or(false);
  const int64_t top = fields.integer("top_logprobs", 0, kTopMax).value_or(0);
  if (top > 0 && !order.logprobs) fields.refuse("top_logprobs", "needs logprobs to be true");
  order.top_logprobs = static_cast<uint32_t>(top);
}

void read_lengths(const Fields& fields, ReplyOrder& order) {
  const bool has_new_name = fields.find("max_completion_tokens") != nullptr;
  read_max_tokens(fields, has_new_name ? "max_completion_tokens" : "max_tokens", order);
  if (const auto budget =
          fields.integer("thinking_token_budget", 0, std::numeric_limits<uint32_t>::max())) {
    order.thinking_budget = static_cast<uint32_t>(*budget);
  }
}

}  // namespace

ChatCompletion read_chat_completion(const JsonValue& body, const text::Tokenizer& tokenizer) {
  const Fields fields(body);
  refuse_what_is_not_text(fields);
  ChatCompletion completion;
  ReplyOrder& order = completion.order;
  order.chat = text::parse_chat_request(body);
  read_sampling(fields, tokenizer.vocab_size(), order);
  read_logprobs(fields, order);
  read_lengths(fields, order);
  ChatForm& form = completion.form;
  form.common = read_form(fields);
  form.common.choices = order.choices;
  form.common.logprobs = order.logprobs;
  form.reasoning = fields.boolean("include_reasoning").value_or(true);
  order.prompt = text::encode_chat(tokenizer, *order.chat);
  if (form.common.token_ids) form.prompt = order.prompt;
  return completion;
}

void handle_chat_completions(const HandlerContext& context, const HttpRequest& request,
                             HttpReply& reply) {
  const JsonValue body = parse_body(request.body);
  if (const std::optional<Problem> problem = wrong_model(context, Fields(body))) {
    return reply.send(problem_response(*problem, Dialect::kOpenAi));
  }
  if (context.strict_sampling) check_vendor_sampling(Fields(body));
  const ServedModel& model = context.model;
  ChatCompletion completion = read_chat_completion(body, model.tokenizer);
  const auto writer = make_chat_writer(std::move(completion.form), new_answer(model, "chatcmpl-"),
                                       model.tokenizer, reply);
  answer(context, std::move(completion.order), *writer, reply, Dialect::kOpenAi);
}

void handle_chat_input_tokens(const HandlerContext& context, const HttpRequest& request,
                              HttpReply& reply) {
  const JsonValue body = parse_body(request.body);
  const text::ChatRequest chat = text::parse_chat_request(body);
  const size_t tokens = text::encode_chat(context.model.tokenizer, chat).size();
  reply.send({.body = json_text(
                  json_object({{"object", "response.input_tokens"}, {"input_tokens", tokens}}))});
}

}  // namespace sluice::server
