#pragma once
#include <system_error>
#include <thread>
#include <utility>

namespace sluice {

/// Throws Error(kOutOfMemory) with the remedy.
[[noreturn]] void report_no_thread(const std::system_error& error);

/// A thread that runs `body`. Throws Error(kOutOfMemory) with the remedy when the system refuses
/// it.
template <class Body>
[[nodiscard]] std::thread start_thread(Body body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    report_no_thread(error);
  }
}

}  // namespace sluice
