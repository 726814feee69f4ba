#include "base/error.h"
#include "server/fields.h"
#include "server/handler.h"
#include "server/json.h"
#include "text/chat.h"
#include "text/incremental_decoder.h"
#include "text/utf8.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {
namespace {

using text::JsonValue;

/// The tokens of what a request names: `content` as llama.cpp calls a text, `prompt` as vLLM does,
/// or `messages`.
std::vector<TokenId> tokens_of(const Fields& fields, std::string_view body,
                               const text::Tokenizer& tokenizer) {
  if (fields.find("messages") != nullptr) {
    return text::encode_chat(tokenizer, text::parse_chat_request(body));
  }
  std::optional<std::string> text = fields.string("content");
  if (!text) text = fields.string("prompt");
  if (!text) fields.refuse("content", "is missing; send a text as content or prompt, or messages");
  const bool specials = fields.boolean("parse_special").value_or(false);
  return tokenizer.encode(*text, specials ? text::Specials::kOn : text::Specials::kOff);
}

/// A string, or an array of bytes where those are no characters.
JsonValue piece_json(std::string_view bytes) {
  if (text::find_invalid_utf8(bytes) == std::string_view::npos) return to_json(bytes);
  JsonValue list = json_array();
  for (const char byte : bytes) list.items.push_back(to_json(static_cast<uint8_t>(byte)));
  return list;
}

}  // namespace

void handle_tokenize(const HandlerContext& context, const HttpRequest& request, HttpReply& reply) {
  const JsonValue body = parse_body(request.body);
  const Fields fields(body);
  const text::Tokenizer& tokenizer = context.model.tokenizer;
  const bool pieces = fields.boolean("with_pieces").value_or(false);
  JsonValue tokens = json_array();
  for (const TokenId id : tokens_of(fields, request.body, tokenizer)) {
    const JsonValue number = to_json(id.value);
    tokens.items.push_back(
        pieces ? json_object({{"id", number}, {"piece", piece_json(tokenizer.bytes(id))}})
               : number);
  }
  const size_t count = tokens.items.size();
  reply.send(
      {.body = json_text(json_object({{"count", count},
                                      {"max_model_len", context.model.loaded.options().context},
                                      {"tokens", std::move(tokens)}}))});
}

void handle_detokenize(const HandlerContext& context, const HttpRequest& request,
                       HttpReply& reply) {
  const JsonValue body = parse_body(request.body);
  const Fields fields(body);
  const text::Tokenizer& tokenizer = context.model.tokenizer;
  if (fields.find("tokens") == nullptr) fields.refuse("tokens", "is missing; send an array of ids");
  const std::string text = text::decode(tokenizer, fields.ids("tokens", tokenizer.vocab_size()));
  reply.send({.body = json_text(json_object({{"content", text}, {"prompt", text}}))});
}

void handle_apply_template(const HandlerContext&, const HttpRequest& request, HttpReply& reply) {
  std::string prompt;
  for (const text::ChatSegment& segment :
       text::render_chat(text::parse_chat_request(request.body))) {
    prompt += segment.text;
  }
  reply.send({.body = json_text(json_object({{"prompt", prompt}}))});
}

}  // namespace sluice::server
