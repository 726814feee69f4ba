#include "server/http_request_reader.h"

#include "text/utf8.h"

#include <algorithm>
#include <charconv>
#include <utility>  // Boost 1.74 needs it and forgets it.

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <fmt/format.h>

namespace sluice::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

// Nothing for a percent sign without two digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    uint8_t byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() < 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

// A request line that is well-formed up to its version, such as HTTP/2's.
bool has_other_version(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\r'));
  const size_t version = line.rfind(" HTTP/");
  return version != std::string_view::npos && line.size() == version + 9 &&
         line[version + 7] == '.';
}

}  // namespace

struct HttpRequestReader::Impl {
  // Why the parser takes no more of `bytes`.
  [[nodiscard]] HttpRefusal refusal_of(const beast::error_code& error,
                                       std::string_view bytes) const {
    if (error == http::error::header_limit) return head_too_long();
    if (error == http::error::body_limit) {
      return {413,
              fmt::format("the body of the request has more than {} bytes", limits.body_bytes)};
    }
    if (error == http::error::bad_version && has_other_version(bytes)) {
      return {505, "the server speaks HTTP/1.1 and 1.0 only"};
    }
    return {400, fmt::format("the request breaks HTTP: {}", error.message())};
  }

  [[nodiscard]] HttpRefusal head_too_long() const {
    return {431,
            fmt::format("the head of the request has more than {} bytes", limits.header_bytes)};
  }

  explicit Impl(const Limits& wanted) : limits(wanted) {
    parser.header_limit(limits.header_bytes);
    parser.body_limit(limits.body_bytes);
  }
  Limits limits;
  http::request_parser<http::string_body> parser{};
};

HttpRequestReader::HttpRequestReader(const Limits& limits)
    : impl_(std::make_unique<Impl>(limits)) {}
HttpRequestReader::~HttpRequestReader() = default;
HttpRequestReader::HttpRequestReader(HttpRequestReader&&) noexcept = default;
HttpRequestReader& HttpRequestReader::operator=(HttpRequestReader&&) noexcept = default;

size_t HttpRequestReader::take(std::string_view bytes) {
  auto& parser = impl_->parser;
  const std::string& body = parser.get().body();
  size_t taken = 0;
  while (!done() && !refusal_ && taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    const size_t body_before = body.size();
    beast::error_code error;
    const size_t step = parser.put({rest.data(), rest.size()}, error);
    taken += step;
    framing_bytes_ = body.size() > body_before ? 0 : framing_bytes_ + step;
    if (error == http::error::need_more) break;
    if (error) {
      refusal_ = impl_->refusal_of(error, rest);
    } else if (framing_bytes_ > impl_->limits.header_bytes) {
      refuse_framing();
    } else if (!head_read_ && parser.is_header_done()) {
      framing_bytes_ = 0;
      read_head();
    }
    if (done()) request_.body = std::move(parser.get().body());
  }
  const size_t left = bytes.size() - taken;
  if (!done() && !refusal_ && framing_bytes_ + left > impl_->limits.header_bytes) refuse_framing();
  return taken;
}

// Beast has no limit for what stands between the chunks of a body and behind them.
void HttpRequestReader::refuse_framing() {
  if (head_read_) return refuse(400, "the request breaks HTTP: the line of a chunk is too long");
  refusal_ = impl_->head_too_long();
}

void HttpRequestReader::read_head() {
  head_read_ = true;
  const auto& head = impl_->parser.get();
  request_.method = view(head.method_string());
  for (const auto& field : head) {
    request_.headers.emplace_back(lower_case(view(field.name_string())), view(field.value()));
  }
  const auto encodings = head.count(http::field::transfer_encoding);
  if (encodings > 1 || (encodings == 1 && head.version() < 11)) {
    return refuse(400, "the request breaks HTTP: its Transfer-Encoding is ambiguous");
  }
  if (encodings == 1 && !beast::iequals(head[http::field::transfer_encoding], "chunked")) {
    return refuse(501, "the server knows no Transfer-Encoding but chunked");
  }
  const auto hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11)) {
    return refuse(400, "the request breaks HTTP: it needs one Host header");
  }
  read_target(view(head.target()));
}

void HttpRequestReader::read_target(std::string_view target) {
  // Of http://host:1/path, which is what proxies are sent, the host is the one that counts.
  const size_t scheme = target.find("://");
  if (scheme != std::string_view::npos && scheme < target.find('/')) {
    target.remove_prefix(scheme + 3);
    const size_t path = std::min(target.find_first_of("/?"), target.size());
    for (auto& [name, value] : request_.headers) {
      if (name == "host") value = target.substr(0, path);
    }
    target.remove_prefix(path);
    if (target.empty() || target.front() == '?') request_.path = "/";
  } else if (target != "*" && !target.starts_with('/')) {
    return refuse(400, "the request breaks HTTP: its target is no path");
  }
  const size_t question = std::min(target.find('?'), target.size());
  const std::optional<std::string> path = percent_decoded(target.substr(0, question));
  if (!path || std::ranges::any_of(*path, is_control) ||
      text::find_invalid_utf8(*path) != std::string_view::npos) {
    return refuse(400, "the path of the request is no text after its percent signs are decoded");
  }
  request_.path += *path;
  request_.query = target.substr(std::min(question + 1, target.size()));
}

void HttpRequestReader::refuse(int status, std::string message) {
  refusal_ = HttpRefusal{.status = status, .message = std::move(message)};
}

bool HttpRequestReader::done() const { return !refusal_ && impl_->parser.is_done(); }

bool HttpRequestReader::expects_continue() const {
  return takes_chunks() && beast::iequals(impl_->parser.get()[http::field::expect], "100-continue");
}

bool HttpRequestReader::keep_alive() const { return impl_->parser.keep_alive(); }

bool HttpRequestReader::takes_chunks() const { return impl_->parser.get().version() >= 11; }

}  // namespace sluice::server
