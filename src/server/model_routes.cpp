#include "base/error.h"
#include "server/handler.h"
#include "server/json.h"
#include "server/model_facts.h"

#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;

/// What clients of OpenAI's interface look for, and those of Anthropic's.
JsonValue model_json(const ServedModel& model) {
  const model::ModelShape& shape = model.loaded.shape();
  return json_object(
      {{"id", model.name},
       {"object", "model"},
       {"created", model.created},
       {"owned_by", "sluice"},
       {"max_model_len", model.loaded.options().context},
       {"meta", json_object({{"n_vocab", shape.vocab},
                             {"n_ctx_train", shape.context_max},
                             {"n_params", parameter_count(model.loaded)},
                             {"size", model.loaded.checkpoint().tensor_bytes()}})},
       {"type", "model"},
       {"display_name", model.name},
       {"created_at", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(model.created))}});
}

void send_json(const JsonValue& value, HttpReply& reply) { reply.send({.body = json_text(value)}); }

MetricNames metric_names(std::string_view query) {
  constexpr std::string_view kNames = "names=";
  while (!query.empty() && !query.starts_with(kNames)) {
    const size_t next = query.find('&');
    query = next == std::string_view::npos ? "" : query.substr(next + 1);
  }
  if (query.empty()) return MetricNames::kOurs;
  const std::string_view names = query.substr(0, query.find('&')).substr(kNames.size());
  if (names == "vllm") return MetricNames::kVllm;
  throw Error(ErrorCode::kInvalidInput, "names: \"{}\" is not known; say vllm, or nothing for ours",
              names);
}

}  // namespace

void handle_models(const HandlerContext& context, const HttpRequest&, HttpReply& reply) {
  const std::string& name = context.model.name;
  send_json(json_object({{"object", "list"},
                         {"data", json_array({model_json(context.model)})},
                         {"has_more", false},
                         {"first_id", name},
                         {"last_id", name}}),
            reply);
}

void handle_model(const HandlerContext& context, const HttpRequest& request, HttpReply& reply) {
  constexpr std::string_view kPath = "/v1/models/";
  const std::string_view id = std::string_view(request.path).substr(kPath.size());
  if (id == context.model.name) return send_json(model_json(context.model), reply);
  reply.send(problem_response(
      {.status = 404,
       .message = fmt::format("there is no model {}; this server has {}", id, context.model.name),
       .param = "model",
       .code = "model_not_found"},
      Dialect::kOpenAi));
}

void handle_health(const HandlerContext&, const HttpRequest&, HttpReply& reply) {
  send_json(json_object({{"status", "ok"}}), reply);
}

void handle_version(const HandlerContext& context, const HttpRequest&, HttpReply& reply) {
  send_json(json_object({{"version", context.model.version}}), reply);
}

void handle_props(const HandlerContext& context, const HttpRequest&, HttpReply& reply) {
  const model::LoadOptions& options = context.model.loaded.options();
  send_json(json_object({{"default_generation_settings",
                          json_object({{"n_ctx", options.context},
                                       {"params", json_object({{"temperature", 1.0},
                                                               {"top_p", 1.0},
                                                               {"n_predict", -1}})}})},
                         {"total_slots", options.sequences},
                         {"model_alias", context.model.name},
                         {"model_path", context.model.name},
                         {"modalities", json_object({{"vision", false}, {"audio", false}})},
                         {"build_info", fmt::format("sluice {}", context.model.version)}}),
            reply);
}

void handle_slots(const HandlerContext& context, const HttpRequest&, HttpReply& reply) {
  const model::LoadOptions& options = context.model.loaded.options();
  const uint32_t running = context.model.engine.status().running;
  JsonValue slots = json_array();
  for (uint32_t slot = 0; slot < options.sequences; ++slot) {
    slots.items.push_back(json_object({{"id", slot},
                                       {"n_ctx", options.context},
                                       {"speculative", false},
                                       {"is_processing", slot < running}}));
  }
  send_json(slots, reply);
}

void handle_metrics(const HandlerContext& context, const HttpRequest& request, HttpReply& reply) {
  const MetricNames names = metric_names(request.query);
  reply.send(
      {.type = "text/plain; version=0.0.4; charset=utf-8",
       .body = context.metrics.text(context.model, names) + context.live.metrics(context.model)});
}

void handle_live(const HandlerContext& context, const HttpRequest&, HttpReply& reply) {
  reply.send(
      {.body = context.live.json(context.model), .headers = {{"Cache-Control", "no-store"}}});
}

}  // namespace sluice::server
