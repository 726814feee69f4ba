#pragma once
#include "server/http.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server {

/// Why a request is answered by the server itself.
struct HttpRefusal {
  int status;
  std::string message;
};

/// Takes one HTTP/1 request apart as its bytes arrive. One thread.
class HttpRequestReader {
 public:
  struct Limits {
    uint64_t body_bytes;
    uint32_t header_bytes;
  };
  explicit HttpRequestReader(const Limits& limits);
  ~HttpRequestReader();
  HttpRequestReader(HttpRequestReader&&) noexcept;
  HttpRequestReader& operator=(HttpRequestReader&&) noexcept;

  /// Takes what it can of the bytes that come next, and tells how many; those that it leaves are to
  /// be offered again, with more behind them. Behind the end of the request it takes nothing.
  [[nodiscard]] size_t take(std::string_view bytes);

  [[nodiscard]] bool head_read() const { return head_read_; }
  /// The request is whole.
  [[nodiscard]] bool done() const;
  /// It breaks a limit or HTTP: 400, 413, 431, 501 or 505. Nothing can follow it.
  [[nodiscard]] const std::optional<HttpRefusal>& refusal() const { return refusal_; }

  // Once the head has been read:

  /// The client waits for a word before it sends the body.
  [[nodiscard]] bool expects_continue() const;
  [[nodiscard]] bool keep_alive() const;
  /// The client understands a body in chunks.
  [[nodiscard]] bool takes_chunks() const;
  /// When it is done.
  [[nodiscard]] const HttpRequest& request() const { return request_; }

 private:
  void read_head();
  void read_target(std::string_view target);
  void refuse(int status, std::string message);
  void refuse_framing();

  struct Impl;
  std::unique_ptr<Impl> impl_;
  HttpRequest request_{};
  std::optional<HttpRefusal> refusal_{};
  bool head_read_ = false;
  size_t framing_bytes_ = 0;  // Taken since the last byte of the body.
};

}  // namespace sluice::server
