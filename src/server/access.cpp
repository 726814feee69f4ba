#include "server/access.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace sluice::server {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_text(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::any_of(list,
                             [&](const std::string& entry) { return same_text(entry, text); });
}

std::string_view value_of(const HttpRequest& request, std::string_view header) {
  const std::string* value = request.header(header);
  return value != nullptr ? std::string_view(*value) : std::string_view();
}

// The page and what says that the server lives: they hold nothing of anybody's.
bool is_public(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return false;
  return request.path == "/" || request.path.starts_with("/web/") || request.path == "/health" ||
         request.path == "/v1/health" || request.path == "/ping";
}

// Takes as long wherever the two differ.
bool same_key(std::string_view presented, std::string_view key) {
  if (key.empty()) return false;
  bool same = presented.size() == key.size();
  uint8_t difference = 0;
  for (size_t i = 0; i < presented.size(); ++i) {
    difference |= static_cast<uint8_t>(presented[i] ^ key[i % key.size()]);
  }
  same &= difference == 0;
  return same;
}

std::string_view presented_key(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view authorization = value_of(request, "authorization");
  if (!same_text(authorization.substr(0, kBearer.size()), kBearer)) {
    return value_of(request, "x-api-key");
  }
  authorization.remove_prefix(kBearer.size());
  return authorization;
}

bool has_key(const AccessRules& rules, std::string_view presented) {
  bool found = false;
  for (const std::string& key : rules.api_keys) found |= same_key(presented, key);
  return found;
}

// A host without its port and the brackets of IPv6; all of it where it is neither of these.
std::string_view host_name(std::string_view host) {
  const bool bracketed = host.starts_with('[');
  const size_t end = bracketed ? host.find(']') : host.find(':');
  if (end == std::string_view::npos) return host;
  const std::string_view port = host.substr(end + (bracketed ? 1 : 0));
  if (!port.empty() && port.front() != ':') return host;
  if (port.find_first_not_of(":0123456789") != std::string_view::npos) return host;
  return bracketed ? host.substr(1, end - 1) : host.substr(0, end);
}

bool is_loopback(std::string_view name) {
  // No name can look like 127.0.0.1 to a browser, whose last part would be a number.
  const bool address =
      name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
  return address || same_text(name, "localhost") || name == "::1";
}

bool is_known_host(const AccessRules& rules, std::string_view host) {
  const std::string_view name = host_name(host);
  return is_loopback(name) || same_text(name, rules.bound_host) ||
         contains(rules.allowed_hosts, name) || contains(rules.allowed_hosts, host) ||
         contains(rules.allowed_hosts, "*");
}

bool allows_origin(const AccessRules& rules, std::string_view origin) {
  return contains(rules.cors_origins, "*") || contains(rules.cors_origins, origin);
}

// A page that this server has sent, or another that its user has allowed.
bool from_known_site(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view origin = value_of(request, "origin");
  if (allows_origin(rules, origin)) return true;
  if (value_of(request, "sec-fetch-site") == "cross-site") return false;
  if (origin.empty()) return true;
  const size_t scheme = origin.find("://");
  return scheme != std::string_view::npos &&
         same_text(origin.substr(scheme + 3), value_of(request, "host"));
}

// What other clients send may be no text that can be shown.
std::string shown(std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  return plain && text.size() <= 255 ? fmt::format("\"{}\"", text) : "of this request";
}

HttpHeaders cors_headers(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view origin = value_of(request, "origin");
  if (origin.empty() || !allows_origin(rules, origin)) return {};
  HttpHeaders headers{{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
  if (request.method != "OPTIONS") return headers;
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  if (const std::string* names = request.header("access-control-request-headers")) {
    headers.emplace_back("Access-Control-Allow-Headers", *names);
  }
  if (request.header("access-control-request-private-network") != nullptr) {
    headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  headers.emplace_back("Access-Control-Max-Age", "86400");
  return headers;
}

AccessDecision decide_by_key(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view presented = presented_key(request);
  if (has_key(rules, presented)) return {};
  return {.status = 401,
          .message = presented.empty()
                         ? "an API key is needed: send it as Authorization: Bearer KEY or as "
                           "x-api-key: KEY"
                         : "the API key is wrong; the right ones are those that the server was "
                           "started with (--api-key)",
          .code = "invalid_api_key",
          .headers = {{"WWW-Authenticate", "Bearer"}}};
}

AccessDecision decide_by_site(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view host = value_of(request, "host");
  if (request.header("host") != nullptr && !is_known_host(rules, host)) {
    return {.status = 403,
            .message = fmt::format("the host {} is not a name of this server; start it with "
                                   "--allow-host NAME to allow one, or with --api-key",
                                   shown(host)),
            .code = "host_not_allowed"};
  }
  if (is_public(request) || from_known_site(rules, request)) return {};
  return {.status = 403,
          .message = fmt::format("pages of the site {} may not use this server; start it with "
                                 "--cors ORIGIN to allow them, or with --api-key",
                                 shown(value_of(request, "origin"))),
          .code = "origin_not_allowed"};
}

}  // namespace

AccessDecision decide_access(const AccessRules& rules, const HttpRequest& request) {
  AccessDecision decision;
  if (rules.api_keys.empty()) {
    decision = decide_by_site(rules, request);
  } else if (request.method != "OPTIONS" && !is_public(request)) {
    decision = decide_by_key(rules, request);
  }
  // Browsers ask so, without a key, whether they may send the real request.
  if (decision.status == 0 && request.method == "OPTIONS") decision.status = 204;
  std::ranges::move(cors_headers(rules, request), std::back_inserter(decision.headers));
  return decision;
}

}  // namespace sluice::server
