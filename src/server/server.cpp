#include "server/server.h"

#include "server/handler.h"
#include "server/metrics.h"
#include "server/router.h"

#include <chrono>

namespace sluice::server {
namespace {

// For clients to take the ends of their answers.
constexpr Nanos kSendingTime = std::chrono::seconds(5);

}  // namespace

struct Server::Impl {
  Impl(const ServedModel& model, const LiveView& live, const ServerOptions& options)
      : served(model),
        rules(options.access),
        context{.model = served,
                .metrics = metrics,
                .live = live,
                .writing = options.writing,
                .strict_model = options.strict_model,
                .strict_sampling = options.strict_sampling},
        router(context, rules),
        on_answered(options.on_answered),
        http(
            options.host, options.port, options.limits,
            [](int status, std::string_view message) {
              return problem_json({.status = status, .message = std::string(message)},
                                  Dialect::kOpenAi);
            },
            [this](const HttpRequest& request, HttpReply& reply) { handle(request, reply); }) {}

  void handle(const HttpRequest& request, HttpReply& reply) const {
    const auto began = std::chrono::steady_clock::now();
    const int status = router.handle(request, reply);
    if (!on_answered) return;
    on_answered({.method = request.method,
                 .path = request.path,
                 .status = status,
                 .duration = std::chrono::steady_clock::now() - began,
                 .gone = reply.gone()});
  }

  const ServedModel served;
  const AccessRules rules;
  Metrics metrics;
  const HandlerContext context;
  const Router router;
  const std::function<void(const AnsweredRequest&)> on_answered;
  HttpServer http;  // Its threads use what stands above, so it must be the last member.
};

Server::Server(const ServedModel& model, const LiveView& live, const ServerOptions& options)
    : impl_(std::make_unique<Impl>(model, live, options)) {}
Server::~Server() = default;

uint16_t Server::port() const { return impl_->http.port(); }

void Server::close(Nanos timeout) {
  impl_->http.stop_accepting();
  impl_->served.engine.close(timeout);
  impl_->http.wait_until_answered(kSendingTime);
}

}  // namespace sluice::server
