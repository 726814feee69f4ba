#include "server/handler.h"
#include "server/json.h"
#include "server/openai_answer.h"
#include "server/responses_request.h"
#include "server/responses_writer.h"

#include <utility>

namespace sluice::server {

void handle_responses(const HandlerContext& context, const HttpRequest& request, HttpReply& reply) {
  const text::JsonValue body = parse_body(request.body);
  const Fields fields(body);
  if (const std::optional<Problem> problem = wrong_model(context, fields)) {
    return reply.send(problem_response(*problem, Dialect::kOpenAi));
  }
  const text::Tokenizer& tokenizer = context.model.tokenizer;
  const ResponseTools tools(fields);
  ReplyOrder order;
  order.chat = read_response_chat(fields, tools);
  read_response_options(fields, tokenizer.vocab_size(), order);
  order.prompt = text::encode_chat(tokenizer, *order.chat);
  AnswerHead head = new_answer(context.model, "resp_");
  const auto writer =
      make_response_writer({.id = std::move(head.id),
                            .model = std::move(head.model),
                            .created = head.created,
                            .echo = echo_of(fields),
                            .stream = fields.boolean("stream").value_or(false),
                            .logprobs = order.logprobs,
                            .encrypted = includes(fields, "reasoning.encrypted_content")},
                           tools, tokenizer, reply);
  answer(context, std::move(order), *writer, reply, Dialect::kOpenAi);
}

void handle_responses_input_tokens(const HandlerContext& context, const HttpRequest& request,
                                   HttpReply& reply) {
  const text::JsonValue body = parse_body(request.body);
  const Fields fields(body);
  const text::ChatRequest chat = read_response_chat(fields, ResponseTools(fields));
  const size_t tokens = text::encode_chat(context.model.tokenizer, chat).size();
  reply.send({.body = json_text(
                  json_object({{"object", "response.input_tokens"}, {"input_tokens", tokens}}))});
}

}  // namespace sluice::server
