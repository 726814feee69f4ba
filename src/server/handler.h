#pragma once
#include "server/http.h"
#include "server/live_view.h"
#include "server/metrics.h"
#include "server/problem.h"
#include "server/reply_writer.h"
#include "server/served_model.h"

#include <string>

namespace sluice::server {

/// What handlers of requests work with. All of it outlives them; any thread.
struct HandlerContext {
  const ServedModel& model;
  Metrics& metrics;
  const LiveView& live;
  WritingOptions writing{};
  bool strict_model = false;     ///< A request for another model is refused,
  bool strict_sampling = false;  ///< and so is a chat that Moonshot would not sample so.
};

/// Answers one request. Throws Error(kInvalidInput), which begins with the field, for a request
/// that is refused before anything was sent.
using Handle = void (*)(const HandlerContext&, const HttpRequest&, HttpReply&);

/// Accepts the order and writes the reply with `writer`, or sends the problem.
void answer(const HandlerContext& context, ReplyOrder order, ReplyWriter& writer, HttpReply& reply,
            Dialect dialect);

// OpenAI
void handle_chat_completions(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_chat_input_tokens(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_completions(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_responses(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_responses_input_tokens(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_models(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_model(const HandlerContext&, const HttpRequest&, HttpReply&);
// Anthropic
void handle_messages(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_count_tokens(const HandlerContext&, const HttpRequest&, HttpReply&);
// llama.cpp and vLLM
void handle_tokenize(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_detokenize(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_apply_template(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_health(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_version(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_props(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_slots(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_metrics(const HandlerContext&, const HttpRequest&, HttpReply&);
// The page
void handle_live(const HandlerContext&, const HttpRequest&, HttpReply&);
void handle_page(const HandlerContext&, const HttpRequest&, HttpReply&);

}  // namespace sluice::server
