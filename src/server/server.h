#pragma once
#include "base/types.h"
#include "server/access.h"
#include "server/http_server.h"
#include "server/live_view.h"
#include "server/reply_writer.h"
#include "server/served_model.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::server {

/// A request that has been answered.
struct AnsweredRequest {
  std::string_view method, path;
  int status = 0;  ///< 0: none was sent.
  Nanos duration{};
  bool gone = false;  ///< The client did not wait for the end.
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;  ///< 0: a free one.
  AccessRules access{};
  HttpLimits limits{};
  WritingOptions writing{};
  bool strict_model = false;     ///< Requests must name the model that is served,
  bool strict_sampling = false;  ///< and chats be sampled as Moonshot's interface does.
  /// Told of every request that reached the server whole; may be empty. Called by any thread.
  std::function<void(const AnsweredRequest&)> on_answered{};
};

/// Answers clients of OpenAI's and Anthropic's interfaces with one model, from threads of its own.
class Server {
 public:
  /// Listens from now on. What is referred to must outlive it. Throws Error that names host and
  /// port.
  Server(const ServedModel& model, const LiveView& live, const ServerOptions& options);
  /// Ends all connections.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] uint16_t port() const;
  /// Takes no more requests, and waits until the answers under way have ended, for `timeout` at
  /// most; those that have not are cut off.
  void close(Nanos timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::server
