#include "server/problem.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

using Json = nlohmann::ordered_json;

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kCancelled:
      return 503;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kOutOfMemory:
      break;
  }
  return 500;
}

// As "messages[0].content[1].text" is.
bool is_field(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.[]-$").find(c) != std::string_view::npos;
  });
}

std::string_view anthropic_error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

Json openai_form(const Problem& problem) {
  Json error = {{"message", problem.message},
                {"type", openai_error_type(problem.status)},
                {"param", problem.param.empty() ? Json() : Json(problem.param)},
                {"code", problem.code.empty() ? Json() : Json(problem.code)}};
  if (problem.context > 0) {
    error["n_prompt_tokens"] = problem.prompt_tokens;
    error["n_ctx"] = problem.context;
  }
  return {{"error", std::move(error)}};
}

Json anthropic_form(const Problem& problem) {
  return {
      {"type", "error"},
      {"error", {{"type", anthropic_error_type(problem.status)}, {"message", problem.message}}}};
}

}  // namespace

Problem problem_of(const Error& error) {
  Problem problem{.status = status_of(error.code()), .message = error.what()};
  const std::string_view text = problem.message;
  if (const size_t colon = text.find(": "); colon != std::string_view::npos) {
    if (is_field(text.substr(0, colon)) && problem.status == 400) {
      problem.param = text.substr(0, colon);
    }
  }
  return problem;
}

std::string_view openai_error_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 501:
      return "not_implemented_error";
    case 503:
      return "unavailable_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

std::string problem_json(const Problem& problem, Dialect dialect) {
  const Json body = dialect == Dialect::kOpenAi ? openai_form(problem) : anthropic_form(problem);
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

HttpResponse problem_response(const Problem& problem, Dialect dialect) {
  constexpr int kAnthropicOverloaded = 529;
  const bool overloaded = dialect == Dialect::kAnthropic && problem.status == 429;
  HttpResponse response{.status = overloaded ? kAnthropicOverloaded : problem.status,
                        .body = problem_json(problem, dialect)};
  if (problem.retry_seconds > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(problem.retry_seconds));
  }
  return response;
}

}  // namespace sluice::server
