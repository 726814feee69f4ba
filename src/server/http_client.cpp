#include "server/http_client.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>  // Boost 1.74 needs it and forgets it.

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

namespace sluice::server {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Take = std::function<bool(std::string_view)>;

// Between two looks at the flag that cancels.
constexpr Nanos kPoll = std::chrono::milliseconds(50);
constexpr uint32_t kHeadBytesMax = 64u << 10;
constexpr uint64_t kBodyBytesMax = 1u << 30;

std::string name_of(const HttpAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", address.host, address.port)
            : fmt::format("{}:{}", address.host, address.port);
}

/// One request and its answer.
class Exchange {
 public:
  Exchange(const HttpAddress& address, const std::atomic<bool>& cancel, Nanos patience)
      : address_(address), cancel_(cancel), patience_(patience) {
    parser_.header_limit(kHeadBytesMax);
    parser_.body_limit(kBodyBytesMax);
  }

  // Each returns false when it was cancelled.
  [[nodiscard]] bool connect();
  [[nodiscard]] bool send(const HttpPost& post);
  [[nodiscard]] bool receive(const Take& take);
  /// 0 before there is one.
  [[nodiscard]] int status() const {
    return parser_.is_header_done() ? static_cast<int>(parser_.get().result_int()) : 0;
  }

 private:
  template <class Start>
  [[nodiscard]] bool wait(std::string_view doing, const Start& start);
  void parse(std::string& received);
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorCode::kIo, "http://{}: {}", name_of(address_), what);
  }
  [[noreturn]] void fail(std::string_view doing, const error_code& error) const {
    fail(fmt::format("{} failed: {}; is the server running there?", doing, error.message()));
  }

  const HttpAddress& address_;
  const std::atomic<bool>& cancel_;
  const Nanos patience_;
  asio::io_context io_{1};
  tcp::socket socket_{io_};
  http::response_parser<http::string_body> parser_{};
  // Of the last wait.
  error_code error_{};
  size_t bytes_ = 0;
};

// Starts an operation and waits for its end.
template <class Start>
bool Exchange::wait(std::string_view doing, const Start& start) {
  bool over = false;
  start([&](error_code error, const auto& result) {
    over = true;
    error_ = error;
    if constexpr (std::is_integral_v<std::decay_t<decltype(result)>>) bytes_ = result;
  });
  const auto deadline = Clock::now() + patience_;
  io_.restart();
  while (!over) {
    io_.run_one_for(kPoll);
    const bool late = Clock::now() >= deadline;
    if (over || (!cancel_ && !late)) continue;
    error_code ignored;
    socket_.close(ignored);
    io_.run();  // What was started refers to this.
    if (cancel_) return false;
    const std::chrono::duration<double> limit = patience_;
    fail(fmt::format("{} took more than {} s", doing, limit.count()));
  }
  return true;
}

bool Exchange::connect() {
  const auto found =
      tcp::resolver(io_).resolve(address_.host, std::to_string(address_.port), error_);
  if (error_) fail("finding the host", error_);
  const bool waited =
      wait("connecting", [&](auto done) { asio::async_connect(socket_, found, std::move(done)); });
  if (waited && error_) fail("connecting", error_);
  return waited;
}

bool Exchange::send(const HttpPost& post) {
  std::string text =
      fmt::format("POST {}{} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
                  address_.path, post.path, name_of(address_), post.body.size());
  for (const auto& [name, value] : post.headers) text += fmt::format("{}: {}\r\n", name, value);
  text += "\r\n" + post.body;
  // When that fails there may still be an answer: a server need not read what it refuses.
  return wait("sending the request",
              [&](auto done) { asio::async_write(socket_, asio::buffer(text), std::move(done)); });
}

bool Exchange::receive(const Take& take) {
  std::array<char, size_t{16} << 10> chunk{};
  std::string received;
  while (!parser_.is_done()) {
    const bool waited =
        wait(parser_.is_header_done() ? "reading the answer" : "waiting for the answer",
             [&](auto done) { socket_.async_read_some(asio::buffer(chunk), std::move(done)); });
    if (!waited) return false;
    received.append(chunk.data(), bytes_);
    parse(received);
    std::string& body = parser_.get().body();
    if (!body.empty() && !take(body)) return true;
    body.clear();
    if (error_ && !parser_.is_done()) fail("reading the answer", error_);
  }
  return true;
}

void Exchange::parse(std::string& received) {
  error_code error;
  size_t taken = 0;
  while (!parser_.is_done() && taken < received.size() && !error) {
    taken += parser_.put(asio::buffer(received) + taken, error);
  }
  received.erase(0, taken);
  if (error && error != http::error::need_more) fail("reading the answer", error);
  // An answer of no stated length ends with the connection.
  if (error_ == asio::error::eof && parser_.is_header_done() && !parser_.is_done()) {
    parser_.put_eof(error);
  }
}

}  // namespace

HttpAddress parse_address(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (url.starts_with("https://")) {
    throw Error(ErrorCode::kInvalidInput,
                "{}: TLS is not supported; reach the server through a tunnel, such as ssh -L "
                "8080:127.0.0.1:8080 HOST, and give http://127.0.0.1:8080",
                url);
  }
  if (!url.starts_with(kScheme)) {
    throw Error(ErrorCode::kInvalidInput, "{}: an address begins with http://", url);
  }
  std::string_view rest = url.substr(kScheme.size());
  HttpAddress address;
  const size_t slash = std::min(rest.find('/'), rest.size());
  address.path = rest.substr(slash);
  while (address.path.ends_with('/')) address.path.pop_back();
  rest = rest.substr(0, slash);

  const size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  const size_t colon = rest.find(':', bracket);
  if (colon != std::string_view::npos) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc{} || end != port.data() + port.size() || address.port == 0) {
      throw Error(ErrorCode::kInvalidInput, "{}: {} is no port", url, port);
    }
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  const bool text = std::ranges::all_of(url, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!text || rest.empty() || rest.find_first_of("[]@?#") != std::string_view::npos) {
    throw Error(ErrorCode::kInvalidInput, "{}: has no name of a host", url);
  }
  address.host = rest;
  return address;
}

int http_post(const HttpAddress& address, const HttpPost& post, const Take& take,
              const std::atomic<bool>& cancel, Nanos patience) {
  Exchange exchange(address, cancel, patience);
  if (exchange.connect() && exchange.send(post)) static_cast<void>(exchange.receive(take));
  return exchange.status();
}

}  // namespace sluice::server
