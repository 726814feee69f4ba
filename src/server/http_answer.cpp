#include "server/http_answer.h"

#include "base/check.h"

#include <iterator>
#include <utility>

#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

namespace sluice::server {
namespace {

std::string_view reason(int status) {
  namespace http = boost::beast::http;
  const auto text = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(status)));
  return {text.data(), text.size()};
}

// These have no body, and nothing that would describe one.
bool is_bodiless(int status) { return status < 200 || status == 204 || status == 304; }

void add_header(std::string& head, std::string_view name, std::string_view value) {
  SLUICE_CHECK(name.find_first_of("\r\n") == std::string_view::npos &&
               value.find_first_of("\r\n") == std::string_view::npos);
  fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
}

}  // namespace

std::string HttpAnswer::head(const HttpResponse& response, std::string_view framing) const {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
  if (!is_bodiless(response.status)) {
    if (!response.type.empty()) add_header(text, "Content-Type", response.type);
    text += framing;
  }
  for (const auto& [name, value] : response.headers) add_header(text, name, value);
  if (!form_.keep_alive) {
    add_header(text, "Connection", "close");
  } else if (!form_.takes_chunks) {
    add_header(text, "Connection", "keep-alive");
  }
  text += "\r\n";
  return text;
}

void HttpAnswer::send(HttpResponse response) {
  SLUICE_CHECK(untouched());
  state_ = State::kSent;
  std::string answer = head(response, fmt::format("Content-Length: {}\r\n", response.body.size()));
  if (!form_.head_only && !is_bodiless(response.status)) answer += response.body;
  outbox_.put(answer);
}

void HttpAnswer::begin(HttpResponse response) {
  SLUICE_CHECK(untouched() && !is_bodiless(response.status));
  state_ = State::kStreaming;
  if (!form_.takes_chunks) form_.keep_alive = false;
  outbox_.put(head(response, form_.takes_chunks ? "Transfer-Encoding: chunked\r\n" : ""));
  put_part(response.body);
}

void HttpAnswer::write(std::string_view part) {
  SLUICE_CHECK(state_ == State::kStreaming || state_ == State::kCut);
  if (state_ == State::kCut) return;
  put_part(part);
  outbox_.wait_for_room();
}

void HttpAnswer::put_part(std::string_view part) {
  // An empty chunk would end the body.
  if (part.empty() || form_.head_only) return;
  if (form_.takes_chunks) {
    outbox_.put(fmt::format("{:x}\r\n{}\r\n", part.size(), part));
  } else {
    outbox_.put(part);
  }
}

void HttpAnswer::cut() {
  SLUICE_CHECK(state_ != State::kSent);
  state_ = State::kCut;
  form_.keep_alive = false;
}

void HttpAnswer::finish() {
  const bool chunks = form_.takes_chunks && !form_.head_only;
  if (state_ == State::kStreaming && chunks) outbox_.put("0\r\n\r\n");
  outbox_.finish(form_.keep_alive);
}

}  // namespace sluice::server
