#pragma once
#include <atomic>
#include <string>
#include <string_view>

namespace sluice::cli {

[[nodiscard]] bool stdin_is_terminal();
[[nodiscard]] bool stdout_is_terminal();
[[nodiscard]] bool stderr_is_terminal();

/// Makes a write to a pipe that nobody reads an error with a message instead of a silent death.
void ignore_broken_pipes();

/// Writes to standard output and flushes. Returns what went wrong, or nothing.
[[nodiscard]] std::string try_write_output(std::string_view text);
/// The same. Throws Error(kIo).
void write_output(std::string_view text);

/// While one of these lives, the first Ctrl-C or SIGTERM sets a flag instead of ending the program;
/// a second one kills it at once. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] const std::atomic<bool>& flag() const;
  /// Until the flag is set.
  void wait() const;
};

}  // namespace sluice::cli
