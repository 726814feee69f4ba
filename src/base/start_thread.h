#pragma once
#include <functional>
#include <thread>

namespace sluice {

/// A thread that runs `body`. Throws Error(kOutOfMemory) with the remedy when the system refuses
/// it.
[[nodiscard]] std::thread start_thread(std::function<void()> body);

}  // namespace sluice
