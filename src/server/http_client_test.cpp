// Without these tests an address could be read as another, or a client could wait for ever for a
// server that says nothing.
#include "server/http_client.h"

#include "base/error.h"
#include "server/http_server.h"

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

constexpr Nanos kLong = std::chrono::seconds(60);

TEST(HttpClient, Addresses) {
  struct Case {
    std::string url, host;
    uint16_t port;
    std::string path;
  };
  const std::vector<Case> cases = {{"http://a", "a", 80, ""},
                                   {"http://a.b:8080", "a.b", 8080, ""},
                                   {"http://a:8080/v1//", "a", 8080, "/v1"},
                                   {"http://[::1]:81/x", "::1", 81, "/x"},
                                   {"http://[::1]", "::1", 80, ""}};
  for (const Case& expected : cases) {
    const HttpAddress got = parse_address(expected.url);
    EXPECT_EQ(got.host, expected.host) << expected.url;
    EXPECT_EQ(got.port, expected.port) << expected.url;
    EXPECT_EQ(got.path, expected.path) << expected.url;
  }
  for (const std::string url :
       {"", "a:80", "https://a", "http://", "http://:80", "http://a:", "http://a:0",
        "http://a:65536", "http://a:8x", "http://u@a", "http://[::1", "http://a b"}) {
    EXPECT_THROW(static_cast<void>(parse_address(url)), Error) << url;
  }
}

/// A server that lets `handle` answer, and what a post to it gives.
class HttpClientTest : public ::testing::Test {
 protected:
  int post(HttpServer::Handler handle, Nanos patience = kLong) {
    const HttpServer server(
        "127.0.0.1", 0, {}, [](int, std::string_view) { return std::string(); }, std::move(handle));
    return http_post(
        {.host = "127.0.0.1", .port = server.port()}, {.path = "/x", .body = "question"},
        [&](std::string_view part) {
          answer_ += part;
          return true;
        },
        cancel_, patience);
  }

  std::string answer_;
  std::atomic<bool> cancel_ = false;
};

TEST_F(HttpClientTest, AWholeAnswerAndOneInParts) {
  EXPECT_EQ(post([](const HttpRequest& request, HttpReply& reply) {
              reply.send({.status = 404, .body = request.method + request.path + request.body});
            }),
            404);
  EXPECT_EQ(answer_, "POST/xquestion");
  answer_.clear();
  EXPECT_EQ(post([](const HttpRequest&, HttpReply& reply) {
              reply.begin({.body = "a"});
              for (int i = 0; i < 1000; ++i) reply.write(std::string(100, 'b'));
            }),
            200);
  EXPECT_EQ(answer_, "a" + std::string(100000, 'b'));
}

TEST_F(HttpClientTest, AnAnswerThatBreaksOffIsAnError) {
  EXPECT_THROW(post([](const HttpRequest&, HttpReply& reply) {
                 reply.begin({.body = "a"});
                 reply.cut();
               }),
               Error);
}

TEST_F(HttpClientTest, ASilentServerAndACancellationEndIt) {
  const auto waits = [](const HttpRequest&, HttpReply& reply) {
    while (!reply.gone()) std::this_thread::yield();
  };
  EXPECT_THROW(post(waits, std::chrono::milliseconds(1)), Error);
  cancel_ = true;
  EXPECT_EQ(post(waits), 0);
}

}  // namespace
}  // namespace sluice::server
