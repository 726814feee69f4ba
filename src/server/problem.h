#pragma once
#include "base/error.h"
#include "server/http.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::server {

/// Why a request gets an error instead of an answer.
struct Problem {
  int status = 400;
  std::string message;
  std::string param{};  ///< The field that is wrong; empty for none.
  std::string code{};   ///< For programs, such as context_length_exceeded; empty for none.
  uint32_t prompt_tokens = 0, context = 0;  ///< With context_length_exceeded.
  uint32_t retry_seconds = 0;               ///< With 429 and 503.
};

/// Whose form an error has.
enum class Dialect : uint8_t { kOpenAi, kAnthropic };

/// Of an Error: a field before ": " in its text becomes `param`.
[[nodiscard]] Problem problem_of(const Error& error);
/// What OpenAI calls errors of this status, such as invalid_request_error.
[[nodiscard]] std::string_view openai_error_type(int status);
/// The JSON object of the error, as a body or an event has it.
[[nodiscard]] std::string problem_json(const Problem& problem, Dialect dialect);
[[nodiscard]] HttpResponse problem_response(const Problem& problem, Dialect dialect);

}  // namespace sluice::server
