#pragma once
#include "base/types.h"
#include "server/http.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sluice::server {

struct HttpLimits {
  uint64_t body_bytes = 128u << 20;
  uint64_t all_bodies_bytes = 512u << 20;  ///< Of all requests that are there; more get a 503.
  uint32_t header_bytes = 64u << 10;
  uint32_t connections = 512;                    ///< More are closed with a 503 at once.
  Nanos header_time = std::chrono::seconds(10);  ///< From the first byte of a request to its end,
  Nanos body_time = std::chrono::seconds(60);    ///< without its body, and with it.
  Nanos idle_time = std::chrono::seconds(60);    ///< Between two requests of a connection.
  Nanos write_time = std::chrono::seconds(60);   ///< For a client that takes nothing.
  uint64_t unsent_bytes = 1u << 20;              ///< Of one answer; write() then waits.
};

/// An HTTP/1.1 server. One thread of its own moves the bytes of all connections; each request is
/// handled in a thread that lives as long as that takes, so a handler may wait. Requests that break
/// a limit or HTTP itself are answered here: 400, 408, 413, 431, 501, 503, 505.
class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, HttpReply&)>;
  /// The body of such an answer: JSON, from a status and a message.
  using Refusal = std::function<std::string(int status, std::string_view message)>;

  /// Listens from now on; port 0 takes a free one. Throws Error that names host and port.
  HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits, Refusal refusal,
             Handler handler);
  /// Closes all connections and waits for the handlers.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] uint16_t port() const;
  /// Accepts no more connections and answers no more requests on those that are idle; answers under
  /// way go on. Any thread.
  void stop_accepting();
  /// After that: waits until the answers under way have been sent. False when `timeout` was too
  /// short.
  bool wait_until_answered(Nanos timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::server
