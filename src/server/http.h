#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::server {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;     ///< "GET", "POST", ...
  std::string path;       ///< Without the query; percent signs decoded.
  std::string query;      ///< Behind the question mark, as it came.
  HttpHeaders headers{};  ///< Names in lower case.
  std::string body{};

  /// The first header of this name, which is in lower case; null when there is none.
  [[nodiscard]] const std::string* header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return &value;
    }
    return nullptr;
  }
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";  ///< Of the body.
  std::string body{};
  HttpHeaders headers{};  ///< Besides those that frame the body.
};

/// Where the answer to one request goes: send() once, or begin(), any number of write() and the end
/// of the handler. Used by the thread that handles the request. Nothing of it fails: what is
/// written when the client is gone goes nowhere.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  virtual void send(HttpResponse response) = 0;
  /// Sends status and headers of `response` now; its body is the first part, and may be empty.
  virtual void begin(HttpResponse response) = 0;
  /// The next part of the body. Waits while the client has much to read yet.
  virtual void write(std::string_view part) = 0;
  /// Ends a body early, so that the client can tell that it is not whole.
  virtual void cut() = 0;
  /// The client has closed its side, or takes nothing.
  [[nodiscard]] virtual bool gone() const = 0;
};

}  // namespace sluice::server
