#include "server/anthropic_request.h"
#include "server/anthropic_writer.h"
#include "server/handler.h"
#include "server/json.h"
#include "server/new_id.h"
#include "server/openai_answer.h"

#include <utility>

namespace sluice::server {

void handle_messages(const HandlerContext& context, const HttpRequest& request, HttpReply& reply) {
  const text::JsonValue body = parse_body(request.body);
  const Fields fields(body);
  if (const std::optional<Problem> problem = wrong_model(context, fields)) {
    return reply.send(problem_response(*problem, Dialect::kAnthropic));
  }
  const text::Tokenizer& tokenizer = context.model.tokenizer;
  ReplyOrder order;
  order.chat = read_messages(fields);
  read_message_options(fields, tokenizer.vocab_size(), order);
  order.prompt = text::encode_chat(tokenizer, *order.chat);
  const auto writer = make_message_writer({.id = new_id("msg_"),
                                           .model = context.model.name,
                                           .prompt = static_cast<uint32_t>(order.prompt.size()),
                                           .stream = fields.boolean("stream").value_or(false)},
                                          reply);
  answer(context, std::move(order), *writer, reply, Dialect::kAnthropic);
}

void handle_count_tokens(const HandlerContext& context, const HttpRequest& request,
                         HttpReply& reply) {
  const text::JsonValue body = parse_body(request.body);
  const text::ChatRequest chat = read_messages(Fields(body));
  const size_t tokens = text::encode_chat(context.model.tokenizer, chat).size();
  reply.send({.body = json_text(json_object({{"input_tokens", tokens}}))});
}

}  // namespace sluice::server
