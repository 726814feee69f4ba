// Without these tests a request could reach the wrong handler, an error could take the server down
// or have another interface's form, or answers could lack the headers that browsers want.
#include "server/router.h"

#include "server/recorded_reply.h"
#include "server/reply_test_model.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using Json = nlohmann::json;

class RouterTest : public ::testing::Test {
 protected:
  HttpResponse ask(const std::string& method, const std::string& path, std::string body = {},
                   HttpHeaders headers = {{"host", "localhost:8080"}}) {
    RecordedReply reply;
    const int status = Router(context_, rules_)
                           .handle({.method = method,
                                    .path = path,
                                    .query = {},
                                    .headers = std::move(headers),
                                    .body = std::move(body)},
                                   reply);
    EXPECT_EQ(status, reply.response.status);
    return reply.response;
  }

  TestModel model_;
  Metrics metrics_;
  HandlerContext context_{.model = model_.served, .metrics = metrics_, .live = model_.live};
  AccessRules rules_;
};

TEST_F(RouterTest, WhatIsThere) {
  for (const char* path : {"/health", "/v1/health", "/ping", "/version", "/v1/models", "/props",
                           "/slots", "/v1/models/nano", "/metrics", "/sluice/live", "/"}) {
    EXPECT_EQ(ask("GET", path).status, 200) << path;
    EXPECT_EQ(ask("HEAD", path).status, 200) << path;
  }
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/responses",
                           "/v1/messages", "/v1/messages/count_tokens", "/tokenize", "/detokenize",
                           "/apply-template", "/v1/chat/completions/input_tokens"}) {
    EXPECT_EQ(ask("POST", path, "{}").status, 400) << path;
    const HttpResponse wrong = ask("GET", path);
    EXPECT_EQ(wrong.status, 405) << path;
    EXPECT_THAT(wrong.headers, Contains(Pair("Allow", "POST")));
  }
}

TEST_F(RouterTest, WhatIsNotThereSaysSo) {
  for (const char* path :
       {"/v1", "/v1/chat", "/v1/chat/completions/", "/v1/models/", "/metricss"}) {
    const HttpResponse response = ask("GET", path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_THAT(Json::parse(response.body)["error"]["message"].get<std::string>(), HasSubstr(path));
  }
  EXPECT_EQ(ask("POST", "/v1/embeddings", "{}").status, 501);
  EXPECT_EQ(ask("GET", "/web/../secret").status, 404);
}

TEST_F(RouterTest, AnErrorHasTheFormOfItsInterface) {
  const Json openai = Json::parse(ask("POST", "/v1/chat/completions", "{\"messages\":3}").body);
  EXPECT_EQ(openai["error"]["type"], "invalid_request_error");
  EXPECT_EQ(openai["error"]["param"], "messages");
  const Json anthropic = Json::parse(ask("POST", "/v1/messages", "no JSON").body);
  EXPECT_EQ(anthropic["type"], "error");
  EXPECT_EQ(anthropic["error"]["type"], "invalid_request_error");
  EXPECT_EQ(Json::parse(ask("POST", "/v1/messages/x", "{}").body)["type"], "error");
}

TEST_F(RouterTest, WhoMayNotAskIsNotAnswered) {
  rules_.api_keys = {"secret"};
  const HttpResponse refused = ask("GET", "/v1/models");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(Json::parse(refused.body)["error"]["type"], "authentication_error");
  EXPECT_EQ(Json::parse(ask("POST", "/v1/messages", "{}").body)["error"]["type"],
            "authentication_error");
  EXPECT_EQ(ask("GET", "/v1/models", {}, {{"x-api-key", "secret"}}).status, 200);
  EXPECT_EQ(ask("GET", "/health").status, 200);
}

TEST_F(RouterTest, OtherSitesGetHeadersWhenTheyMayAsk) {
  const HttpHeaders headers = {{"host", "localhost"}, {"origin", "https://a.example"}};
  EXPECT_EQ(ask("GET", "/v1/models", {}, headers).status, 403);
  rules_.cors_origins = {"https://a.example"};
  const HttpResponse response = ask("GET", "/v1/models", {}, headers);
  EXPECT_EQ(response.status, 200);
  EXPECT_THAT(response.headers, Contains(Pair("Access-Control-Allow-Origin", "https://a.example")));
}

}  // namespace
}  // namespace sluice::server
