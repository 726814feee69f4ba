#pragma once
#include "server/http.h"

#include <string>
#include <vector>

namespace sluice::server {

/// Who may use the server. With a key only those who have it; without one the programs of this
/// machine and whoever reaches its port, but no page of another site in a browser: neither directly
/// nor under a name that such a site has pointed here.
struct AccessRules {
  std::vector<std::string> api_keys{};       ///< Any of them; empty: none is needed.
  std::vector<std::string> allowed_hosts{};  ///< What else clients may call this machine; "*": all.
  std::vector<std::string> cors_origins{};   ///< Sites whose pages may use it; "*": all.
  std::string bound_host{};                  ///< What it listens on.
};

/// What becomes of a request.
struct AccessDecision {
  int status = 0;         ///< 0: it is to be answered. 204: it was only a question of a browser.
  std::string message{};  ///< With a status from 400 on.
  std::string code{};     ///< For programs; may be empty.
  HttpHeaders headers{};  ///< For whatever is answered.
};

[[nodiscard]] AccessDecision decide_access(const AccessRules& rules, const HttpRequest& request);

}  // namespace sluice::server
