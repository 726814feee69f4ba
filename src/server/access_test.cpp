// Without these tests a page of another site, or a client without the key, could have the server
// generate text or read what others ask it.
#include "server/access.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

HttpRequest request_of(std::string method, std::string path, HttpHeaders headers) {
  return {.method = std::move(method),
          .path = std::move(path),
          .query = {},
          .headers = std::move(headers)};
}

struct Case {
  HttpHeaders headers;
  int status;
  std::string method = "POST";
  std::string path = "/v1/chat/completions";
};

void expect_all(const AccessRules& rules, const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    const AccessDecision decision =
        decide_access(rules, request_of(test.method, test.path, test.headers));
    std::string shown = test.method + " " + test.path;
    for (const auto& [name, value] : test.headers) shown += ", " + name + ": " + value;
    EXPECT_EQ(decision.status, test.status) << shown;
    EXPECT_EQ(decision.message.empty(), test.status < 400) << shown;
  }
}

const HttpHeaders kLocal = {{"host", "localhost:8080"}};

HttpHeaders from_origin(std::string origin) {
  return {{"host", "localhost:8080"}, {"origin", std::move(origin)}};
}

TEST(Access, WithoutAKeyHostsMustBeKnown) {
  const AccessRules rules{.allowed_hosts = {"Box.lan", "other:81"}, .bound_host = "10.0.0.7"};
  expect_all(rules, {
                        {{{"host", "localhost"}}, 0},
                        {{{"host", "LOCALHOST:8080"}}, 0},
                        {{{"host", "127.0.0.1:8080"}}, 0},
                        {{{"host", "127.1.2.3"}}, 0},
                        {{{"host", "[::1]"}}, 0},
                        {{{"host", "[::1]:8080"}}, 0},
                        {{{"host", "10.0.0.7:8080"}}, 0},
                        {{{"host", "box.lan"}}, 0},
                        {{{"host", "box.lan:1"}}, 0},
                        {{{"host", "other:81"}}, 0},
                        {{}, 0},  // An old client; browsers always send it.
                        {{{"host", "other:82"}}, 403},
                        {{{"host", "evil.example"}}, 403},
                        {{{"host", "evil.example:8080"}}, 403},
                        {{{"host", "localhost.evil.example"}}, 403},
                        {{{"host", "127.0.0.1.evil.example"}}, 403},
                        {{{"host", "127.evil"}}, 403},
                        {{{"host", "10.0.0.8"}}, 403},
                        {{{"host", ""}}, 403},
                        {{{"host", "[::1"}}, 403},
                        {{{"host", "[::1]evil"}}, 403},
                        {{{"host", "[::1]:evil"}}, 403},
                        {{{"host", "localhost:80@evil"}}, 403},
                        {{{"host", "evil.example"}}, 403, "GET", "/"},
                        {{{"host", "evil.example"}}, 403, "GET", "/health"},
                        {{{"host", "evil.example"}}, 403, "OPTIONS"},
                    });
  expect_all({.allowed_hosts = {"*"}}, {{{{"host", "evil.example"}}, 0}});
}

TEST(Access, TheBoundAddressMayBeOfIpv6) {
  expect_all({.bound_host = "fe80::1"}, {{{{"host", "[fe80::1]:8080"}}, 0}});
  expect_all({.bound_host = "::"}, {{{{"host", ""}}, 403}, {{{"host", ":8080"}}, 403}});
}

TEST(Access, WithoutAKeyOtherSitesAreKeptOut) {
  const HttpHeaders cross_site = {{"host", "localhost:8080"}, {"sec-fetch-site", "cross-site"}};
  expect_all({}, {
                     {kLocal, 0},
                     {from_origin("http://localhost:8080"), 0},
                     {from_origin("https://LOCALHOST:8080"), 0},
                     {from_origin("http://localhost:3000"), 403},
                     {from_origin("http://127.0.0.1:8080"), 403},
                     {from_origin("https://evil.example"), 403},
                     {from_origin("http://localhost:8080.evil.example"), 403},
                     {from_origin("null"), 403},
                     {from_origin("localhost:8080"), 403},
                     {from_origin("https://evil.example"), 403, "GET", "/v1/models"},
                     {from_origin("https://evil.example"), 403, "OPTIONS"},
                     {from_origin("https://evil.example"), 403, "POST", "/"},
                     {from_origin("https://evil.example"), 403, "POST", "/health"},
                     {cross_site, 403},
                     {cross_site, 403, "GET", "/metrics"},
                     // A link on another site may lead to the page.
                     {cross_site, 0, "GET", "/"},
                     {cross_site, 0, "GET", "/web/app.js"},
                     {from_origin("https://evil.example"), 0, "GET", "/health"},
                     {from_origin("http://localhost:8080"), 204, "OPTIONS"},
                 });
}

TEST(Access, SitesCanBeAllowed) {
  const HttpHeaders cross_site = {{"host", "localhost:8080"},
                                  {"origin", "https://chat.example"},
                                  {"sec-fetch-site", "cross-site"}};
  const AccessRules one{.cors_origins = {"https://chat.example"}};
  expect_all(one, {
                      {cross_site, 0},
                      {cross_site, 204, "OPTIONS"},
                      {from_origin("https://chat.example"), 0},
                      {from_origin("http://chat.example"), 403},
                      {from_origin("https://chat.example.evil"), 403},
                      {kLocal, 0},
                  });
  expect_all({.cors_origins = {"*"}}, {{from_origin("https://any.example"), 0},
                                       {from_origin("null"), 0},
                                       {{{"host", "evil.example"}}, 403}});
}

TEST(Access, WithAKeyItIsNeeded) {
  const AccessRules rules{.api_keys = {"first", "second key"}};
  expect_all(rules, {
                        {{{"authorization", "Bearer first"}}, 0},
                        {{{"authorization", "bearer second key"}}, 0},
                        {{{"x-api-key", "first"}}, 0},
                        {{{"host", "box.lan"}, {"x-api-key", "first"}}, 0},
                        {{{"origin", "https://any.example"}, {"x-api-key", "first"}}, 0},
                        {{{"authorization", "Basic Zm9v"}, {"x-api-key", "first"}}, 0},
                        {{}, 401},
                        {kLocal, 401},
                        {{{"authorization", "Bearer "}}, 401},
                        {{{"authorization", "Bearer"}}, 401},
                        {{{"authorization", "first"}}, 401},
                        {{{"authorization", "Bearer firs"}}, 401},
                        {{{"authorization", "Bearer firstfirst"}}, 401},
                        {{{"authorization", "Bearer First"}}, 401},
                        {{{"x-api-key", ""}}, 401},
                        {{{"authorization", "Bearer wrong"}, {"x-api-key", "wrong"}}, 401},
                        {{}, 401, "GET", "/v1/models"},
                        {{}, 401, "GET", "/metrics"},
                        {{}, 401, "GET", "/sluice/live"},
                        {{}, 401, "POST", "/health"},
                        {{}, 401, "GET", "/health/"},
                        {{}, 0, "GET", "/health"},
                        {{}, 0, "HEAD", "/"},
                        {{}, 0, "GET", "/web/app.js"},
                        {{}, 204, "OPTIONS"},
                    });
  expect_all({.api_keys = {""}}, {{{{"authorization", "Bearer "}}, 401}, {{}, 401}});
}

TEST(Access, AnAllowedSiteIsToldSo) {
  const AccessRules rules{.api_keys = {"k"}, .cors_origins = {"https://chat.example"}};
  HttpHeaders headers = from_origin("https://chat.example");
  const HttpHeaders expected = {{"Access-Control-Allow-Origin", "https://chat.example"},
                                {"Vary", "Origin"}};
  const AccessDecision refused = decide_access(rules, request_of("GET", "/v1/models", headers));
  EXPECT_EQ(refused.status, 401);
  const HttpHeaders with_scheme = {{"WWW-Authenticate", "Bearer"}, expected[0], expected[1]};
  EXPECT_EQ(refused.headers, with_scheme);

  headers.emplace_back("x-api-key", "k");
  EXPECT_EQ(decide_access(rules, request_of("POST", "/v1/models", headers)).headers, expected);

  HttpHeaders question = from_origin("https://chat.example");
  question.emplace_back("access-control-request-headers", "authorization,x-stainless-os");
  question.emplace_back("access-control-request-private-network", "true");
  const HttpHeaders answer = {
      expected[0],
      expected[1],
      {"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
      {"Access-Control-Allow-Headers", "authorization,x-stainless-os"},
      {"Access-Control-Allow-Private-Network", "true"},
      {"Access-Control-Max-Age", "86400"},
  };
  EXPECT_EQ(decide_access(rules, request_of("OPTIONS", "/v1/models", question)).headers, answer);

  const HttpHeaders other = from_origin("https://evil.example");
  EXPECT_TRUE(decide_access(rules, request_of("OPTIONS", "/v1/models", other)).headers.empty());
}

TEST(Access, RefusalsSayHowToAllowIt) {
  const auto message = [](HttpHeaders headers) {
    return decide_access({}, request_of("POST", "/v1/completions", std::move(headers))).message;
  };
  EXPECT_EQ(message({{"host", "box.lan:8080"}}),
            "the host \"box.lan:8080\" is not a name of this server; start it with --allow-host "
            "NAME to allow one, or with --api-key");
  EXPECT_EQ(message(from_origin("https://a.example")),
            "pages of the site \"https://a.example\" may not use this server; start it with "
            "--cors ORIGIN to allow them, or with --api-key");
  // It goes into JSON, which takes text alone.
  EXPECT_EQ(message({{"host", "\xff"}}).find('\xff'), std::string::npos);
}

}  // namespace
}  // namespace sluice::server
