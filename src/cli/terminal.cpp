#include "cli/terminal.h"

#include "base/error.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace sluice::cli {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);
constexpr std::array kEndingSignals = {SIGINT, SIGTERM};

void on_interrupt(int) {
  interrupted.store(true);
  for (const int signal : kEndingSignals) std::signal(signal, SIG_DFL);
}

}  // namespace

bool stdin_is_terminal() { return isatty(STDIN_FILENO) != 0; }
bool stdout_is_terminal() { return isatty(STDOUT_FILENO) != 0; }
bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

std::string try_write_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return {};
  }
  return std::string("standard output: ") +
         (errno == EPIPE ? "its reader is gone" : std::strerror(errno));
}

void write_output(std::string_view text) {
  const std::string trouble = try_write_output(text);
  if (!trouble.empty()) throw Error(ErrorCode::kIo, trouble);
}

InterruptGuard::InterruptGuard() {
  interrupted.store(false);
  for (const int signal : kEndingSignals) std::signal(signal, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  for (const int signal : kEndingSignals) std::signal(signal, SIG_DFL);
}

const std::atomic<bool>& InterruptGuard::flag() const { return interrupted; }

void InterruptGuard::wait() const {
  // A handler may do little more than set a flag, so that is looked at now and then.
  while (!interrupted) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace sluice::cli
