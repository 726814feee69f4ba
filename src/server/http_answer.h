#pragma once
#include "server/http.h"
#include "server/http_outbox.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::server {

/// Frames the answer to one request as HTTP/1 wants it.
class HttpAnswer final : public HttpReply {
 public:
  /// Of the request.
  struct Form {
    bool head_only = false;     ///< A HEAD, which gets no body.
    bool takes_chunks = false;  ///< HTTP/1.1; before, a body of unknown length ends with the
    bool keep_alive = false;    ///< connection.
  };
  HttpAnswer(HttpOutbox& outbox, const Form& form) : outbox_(outbox), form_(form) {}

  void send(HttpResponse response) override;
  void begin(HttpResponse response) override;
  void write(std::string_view part) override;
  void cut() override;
  [[nodiscard]] bool gone() const override { return outbox_.gone(); }

  /// Neither send() nor begin() nor cut() has been called.
  [[nodiscard]] bool untouched() const { return state_ == State::kUntouched; }
  /// To be called once, at the end.
  void finish();

 private:
  enum class State : uint8_t { kUntouched, kSent, kStreaming, kCut };
  void put_part(std::string_view part);
  [[nodiscard]] std::string head(const HttpResponse& response, std::string_view framing) const;

  HttpOutbox& outbox_;
  Form form_;
  State state_ = State::kUntouched;
};

}  // namespace sluice::server
