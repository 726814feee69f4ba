// Without these tests a broken or hostile request could be taken for another one, and where the
// network cuts a request into parts could change what is read.
#include "server/http_request_reader.h"

#include "server/read_in_parts.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

constexpr HttpRequestReader::Limits kLimits{.body_bytes = 16, .header_bytes = 200};

FirstRequest read(std::string_view bytes, size_t part = 1000) {
  return read_in_parts(bytes, part, kLimits);
}

const std::string kPost = "POST /p HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";
const std::string kGet = "GET /p HTTP/1.1\r\n";

struct FramingCase {
  std::string_view name;
  std::string bytes;
  int status;  // 0: more is waited for.
  std::string_view body = {};
};

const std::vector<FramingCase> kFraming = {
    {"no body", kGet + "Host: a\r\n\r\n", 200},
    {"a body", kPost + "Content-Length: 3\r\n\r\nabc", 200, "abc"},
    {"an empty body", kPost + "Content-Length: 0\r\n\r\n", 200},
    {"a largest body", kPost + "Content-Length: 16\r\n\r\n0123456789abcdef", 200,
     "0123456789abcdef"},
    {"chunks", kChunked + "2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n", 200, "abc"},
    {"a trailer", kChunked + "1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n", 200, "a"},
    {"an older client", "GET /p HTTP/1.0\r\n\r\n", 200},
    {"half a head", kGet + "Host", 0},
    {"half a body", kPost + "Content-Length: 3\r\n\r\nab", 0},
    {"half a chunk", kChunked + "2\r\na", 0},
    {"both lengths", kPost + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"both lengths, the other way",
     kPost + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400},
    {"two lengths", kPost + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
    {"a negative length", kPost + "Content-Length: -3\r\n\r\nabc", 400},
    {"a length with a sign", kPost + "Content-Length: +3\r\n\r\nabc", 400},
    {"a length in hex", kPost + "Content-Length: 0x3\r\n\r\nabc", 400},
    {"a length past 64 bits", kPost + "Content-Length: 18446744073709551617\r\n\r\na", 400},
    {"an unknown coding", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
    {"chunked, but not last", kPost + "Transfer-Encoding: chunked, gzip\r\n\r\n", 501},
    {"two codings", kPost + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"chunks in HTTP/1.0", "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {"a chunk size of no digits", kChunked + "\r\nab\r\n", 400},
    {"a chunk size that is no number", kChunked + "zz\r\nab\r\n", 400},
    {"a chunk size past 64 bits", kChunked + "11111111111111111\r\nab\r\n", 400},
    {"a chunk longer than its size", kChunked + "1\r\nabc\r\n", 400},
    {"an endless chunk extension", kChunked + "1;" + std::string(400, 'x'), 400},
    {"an endless trailer", kChunked + "0\r\nX: " + std::string(400, 'x'), 400},
    {"a body over the limit", kPost + "Content-Length: 17\r\n\r\n", 413},
    {"chunks over the limit", kChunked + "a\r\n0123456789\r\na\r\n", 413},
    {"a header over the limit", kGet + "Host: a\r\nX: " + std::string(400, 'x') + "\r\n\r\n", 431},
    {"an endless header", kGet + "X: " + std::string(400, 'x'), 431},
    {"an endless target", "GET /" + std::string(400, 'x'), 431},
    {"no request line", "hello\r\n\r\n", 400},
    {"no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    {"no version", "GET /p\r\nHost: a\r\n\r\n", 400},
    {"lines that end in LF alone", "GET /p HTTP/1.1\nHost: a\n\n\r\n\r\n", 400},
    {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    {"HTTP/0.9", "GET /p HTTP/0.9\r\nHost: a\r\n\r\n", 505},
    {"TLS", "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03\r\n\r\n", 400},
    {"a NUL in the target", std::string("GET /\0p HTTP/1.1\r\nHost: a\r\n\r\n", 29), 400},
    {"a NUL in a header", kGet + "Host: a" + std::string(1, '\0') + "\r\n\r\n", 400},
    {"a blank before the colon", kGet + "Host : a\r\n\r\n", 400},
    {"a header without a name", kGet + "Host: a\r\n: b\r\n\r\n", 400},
    {"no host", kGet + "\r\n", 400},
    {"two hosts", kGet + "Host: a\r\nHost: b\r\n\r\n", 400},
    {"a target that is no path", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
};

TEST(HttpRequestReader, FramingIsTheSameAtEverySplit) {
  for (const FramingCase& test : kFraming) {
    for (const size_t part : {size_t{1}, size_t{2}, size_t{7}, test.bytes.size()}) {
      SCOPED_TRACE(testing::Message() << test.name << ", parts of " << part);
      const FirstRequest outcome = read(test.bytes, part);
      EXPECT_EQ(outcome.status(), test.status)
          << (outcome.reader.refusal() ? outcome.reader.refusal()->message : "");
      EXPECT_EQ(outcome.reader.request().body, test.status == 200 ? test.body : "");
    }
  }
}

TEST(HttpRequestReader, LeavesWhatFollowsTheRequest) {
  for (const size_t part : {1, 5, 1000}) {
    const FirstRequest outcome = read(kPost + "Content-Length: 1\r\n\r\na" + kGet, part);
    EXPECT_EQ(outcome.reader.request().body, "a");
    EXPECT_EQ(outcome.left, kGet);
  }
}

TEST(HttpRequestReader, ReadsTheHead) {
  const FirstRequest outcome = read(
      "PUT /p?a=%20b HTTP/1.1\r\nHOST: a\r\nX-One:  1 \r\nx-one: 2\r\nExpect: 100-continue\r\n"
      "Content-Length: 1\r\n\r\n",
      1000);
  const HttpRequest& request = outcome.reader.request();
  EXPECT_TRUE(outcome.reader.head_read());
  EXPECT_TRUE(outcome.reader.expects_continue());
  EXPECT_FALSE(outcome.reader.done());
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/p");
  EXPECT_EQ(request.query, "a=%20b");
  ASSERT_NE(request.header("x-one"), nullptr);
  EXPECT_EQ(*request.header("x-one"), "1");
  EXPECT_EQ(request.header("X-One"), nullptr);
}

TEST(HttpRequestReader, TrailersAreNoHeaders) {
  const FirstRequest outcome = read(kChunked + "0\r\nAuthorization: Bearer k\r\n\r\n");
  EXPECT_EQ(outcome.status(), 200);
  EXPECT_EQ(outcome.reader.request().header("authorization"), nullptr);
}

TEST(HttpRequestReader, TellsWhetherTheConnectionStays) {
  struct Case {
    std::string head;
    bool stays;
  };
  const std::vector<Case> cases = {
      {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
      {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false},
      {"GET / HTTP/1.0\r\n\r\n", false},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(read(test.head).reader.keep_alive(), test.stays) << test.head;
  }
}

TEST(HttpRequestReader, ReadsTargets) {
  struct Case {
    std::string target, path, query;
    std::string host = "a";
  };
  const std::vector<Case> cases = {
      {"/", "/", ""},
      {"/a%20b%2Fc%C3%A4", "/a b/c\xC3\xA4", ""},
      {"/a?b?c", "/a", "b?c"},
      {"/a?", "/a", ""},
      {"*", "*", ""},
      {"/x?to=http://b/", "/x", "to=http://b/"},
      {"http://b:80/c?d", "/c", "d", "b:80"},
      {"HTTP://b", "/", "", "b"},
      {"http://b?d", "/", "d", "b"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.target);
    const FirstRequest outcome = read("GET " + test.target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_EQ(outcome.status(), 200);
    const HttpRequest& request = outcome.reader.request();
    EXPECT_EQ(request.path, test.path);
    EXPECT_EQ(request.query, test.query);
    EXPECT_EQ(*request.header("host"), test.host);
  }
  for (const std::string target :
       {"/%", "/%4", "/%4x", "/%zz", "/%00", "/%1b", "/%ff", "/%+1", "p", "?p"}) {
    const FirstRequest outcome = read("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(outcome.status(), 400) << target;
  }
}

}  // namespace
}  // namespace sluice::server
