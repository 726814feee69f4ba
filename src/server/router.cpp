#include "server/router.h"

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::server {
namespace {

struct Route {
  std::string_view method;
  std::string_view path;  ///< With a star at its end, all that begins so.
  Handle handle;
  Dialect dialect = Dialect::kOpenAi;
};

constexpr std::array kRoutes = {
    Route{"POST", "/v1/chat/completions", handle_chat_completions},
    Route{"POST", "/v1/chat/completions/input_tokens", handle_chat_input_tokens},
    Route{"POST", "/v1/completions", handle_completions},
    Route{"POST", "/v1/responses", handle_responses},
    Route{"POST", "/v1/responses/input_tokens", handle_responses_input_tokens},
    Route{"GET", "/v1/models", handle_models},
    Route{"GET", "/v1/models/*", handle_model},
    Route{"POST", "/v1/messages", handle_messages, Dialect::kAnthropic},
    Route{"POST", "/v1/messages/count_tokens", handle_count_tokens, Dialect::kAnthropic},
    Route{"POST", "/tokenize", handle_tokenize},
    Route{"POST", "/detokenize", handle_detokenize},
    Route{"POST", "/apply-template", handle_apply_template},
    Route{"GET", "/health", handle_health},
    Route{"GET", "/v1/health", handle_health},
    Route{"GET", "/ping", handle_health},
    Route{"GET", "/version", handle_version},
    Route{"GET", "/props", handle_props},
    Route{"GET", "/slots", handle_slots},
    Route{"GET", "/metrics", handle_metrics},
    Route{"GET", "/sluice/live", handle_live},
    Route{"GET", "/", handle_page},
    Route{"GET", "/web/*", handle_page},
};

/// What clients of such servers know and this one does not do.
constexpr std::array<std::string_view, 12> kNotHere = {
    "/v1/embeddings",   "/v1/rerank",           "/rerank",     "/v1/images/generations",
    "/v1/audio/speech", "/v1/moderations",      "/v1/files",   "/v1/audio/transcriptions",
    "/v1/batches",      "/v1/fine_tuning/jobs", "/embeddings", "/v1/assistants"};

bool fits(const Route& route, std::string_view path) {
  if (!route.path.ends_with('*')) return route.path == path;
  return path.size() >= route.path.size() &&
         path.starts_with(route.path.substr(0, route.path.size() - 1));
}

Dialect dialect_of(std::string_view path) {
  return path.starts_with("/v1/messages") ? Dialect::kAnthropic : Dialect::kOpenAi;
}

HttpResponse not_found(std::string_view path) {
  if (std::ranges::find(kNotHere, path) != kNotHere.end()) {
    return problem_response(
        {.status = 501, .message = fmt::format("{} is not something that Sluice does", path)},
        Dialect::kOpenAi);
  }
  return problem_response(
      {.status = 404,
       .message = fmt::format("there is nothing at {}; the interfaces begin at /v1, such as "
                              "/v1/chat/completions",
                              path),
       .code = "not_found"},
      dialect_of(path));
}

HttpResponse wrong_method(std::string_view path, std::string_view allowed) {
  HttpResponse response = problem_response(
      {.status = 405, .message = fmt::format("{} takes {} requests only", path, allowed)},
      dialect_of(path));
  response.headers.emplace_back("Allow", allowed);
  return response;
}

/// Adds headers to whatever is sent, and notes its status.
class ReplyWithHeaders final : public HttpReply {
 public:
  ReplyWithHeaders(HttpReply& reply, const HttpHeaders& headers)
      : reply_(reply), headers_(headers) {}

  void send(HttpResponse response) override { reply_.send(with_headers(std::move(response))); }
  void begin(HttpResponse response) override {
    began_ = true;
    reply_.begin(with_headers(std::move(response)));
  }
  void write(std::string_view part) override { reply_.write(part); }
  void cut() override { reply_.cut(); }
  [[nodiscard]] bool gone() const override { return reply_.gone(); }
  [[nodiscard]] bool began() const { return began_; }
  [[nodiscard]] int status() const { return status_; }

 private:
  HttpResponse with_headers(HttpResponse response) {
    status_ = response.status;
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
    return response;
  }

  HttpReply& reply_;
  const HttpHeaders& headers_;
  bool began_ = false;
  int status_ = 0;
};

void run(const Route& route, const HandlerContext& context, const HttpRequest& request,
         ReplyWithHeaders& reply) {
  Problem problem;
  try {
    return route.handle(context, request, reply);
  } catch (const Error& error) {
    problem = problem_of(error);
  } catch (const std::bad_alloc&) {
    problem = {.status = 500, .message = "there is not enough memory for this request"};
  }
  if (reply.began()) {
    reply.cut();
  } else {
    reply.send(problem_response(problem, route.dialect));
  }
}

void dispatch(const HandlerContext& context, const HttpRequest& request, ReplyWithHeaders& reply) {
  std::string_view allowed;
  for (const Route& route : kRoutes) {
    if (!fits(route, request.path)) continue;
    const bool same =
        request.method == route.method || (request.method == "HEAD" && route.method == "GET");
    if (same) return run(route, context, request, reply);
    allowed = route.method;
  }
  reply.send(allowed.empty() ? not_found(request.path) : wrong_method(request.path, allowed));
}

}  // namespace

int Router::handle(const HttpRequest& request, HttpReply& reply) const {
  const AccessDecision access = decide_access(rules_, request);
  ReplyWithHeaders answered(reply, access.headers);
  if (access.status == 0) {
    dispatch(context_, request, answered);
  } else if (access.status < 400) {
    answered.send({.status = access.status});
  } else {
    answered.send(
        problem_response({.status = access.status, .message = access.message, .code = access.code},
                         dialect_of(request.path)));
  }
  return answered.status();
}

void answer(const HandlerContext& context, ReplyOrder order, ReplyWriter& writer, HttpReply& reply,
            Dialect dialect) {
  Problem problem;
  std::optional<ReplyRun> run = ReplyRun::start(context.model, std::move(order), problem);
  if (!run) return reply.send(problem_response(problem, dialect));
  write_reply(*run, writer, reply, context.writing, context.metrics);
}

}  // namespace sluice::server
