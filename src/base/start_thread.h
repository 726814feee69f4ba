#pragma once
#include <system_error>
#include <thread>
#include <utility>

namespace sluice {

/// Throws Error(kOutOfMemory) with the remedy.
[[noreturn]] void report_no_thread(const std::error_code& error);

/// A thread that runs `body`; none, and `error` says why, when the system refuses it.
template <class Body>
[[nodiscard]] std::thread start_thread(Body body, std::error_code& error) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& refusal) {
    error = refusal.code();
    return {};
  }
}

/// A thread that runs `body`. Throws Error(kOutOfMemory) with the remedy when the system refuses
/// it.
template <class Body>
[[nodiscard]] std::thread start_thread(Body body) {
  std::error_code error;
  std::thread thread = start_thread(std::move(body), error);
  if (error) report_no_thread(error);
  return thread;
}

}  // namespace sluice
