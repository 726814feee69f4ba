#pragma once
#include "base/types.h"
#include "server/http.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::server {

/// Where a server is.
struct HttpAddress {
  std::string host;  ///< An address of IPv6 has no brackets.
  uint16_t port = 80;
  std::string path{};  ///< What paths there begin with; has no slash at its end.
};

/// Reads http://HOST[:PORT][/PATH]. Throws Error(kInvalidInput) for anything else, https included.
[[nodiscard]] HttpAddress parse_address(std::string_view url);

struct HttpPost {
  std::string path;       ///< Below that of the address.
  HttpHeaders headers{};  ///< Besides those that frame the body.
  std::string body{};
};

/// Sends the request and hands the body of the answer to `take` as it comes, until that returns
/// false. Returns the status; 0 when `cancel` was set before there was one. Throws Error(kIo),
/// which names the address, when the server cannot be reached, says nothing for `patience`, or
/// breaks off.
int http_post(const HttpAddress& address, const HttpPost& post,
              const std::function<bool(std::string_view)>& take, const std::atomic<bool>& cancel,
              Nanos patience);

}  // namespace sluice::server
