#include "cli/progress.h"

#include "base/start_thread.h"
#include "base/types.h"
#include "cli/terminal.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {

Progress::Progress(Source source, bool quiet) : source_(std::move(source)) {
  if (!quiet) thread_ = start_thread([this] { show_until_stopped(); });
}

void Progress::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Progress::show_until_stopped() {
  using namespace std::chrono_literals;
  const bool live = stderr_is_terminal();
  bool shown = false;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, live ? 200ms : 5000ms, [&] { return stopped_; })) {
    // "\r" goes to the start of the line, "\x1b[K" clears what the last text left behind it.
    fmt::print(stderr, "{}{}{}", live ? "\r" : "", line(), live ? "\x1b[K" : "\n");
    std::fflush(stderr);
    shown = true;
  }
  if (live && shown) fmt::print(stderr, "\r\x1b[K");
}

std::string Progress::line() const {
  const double share = source_.share();
  const double elapsed = to_seconds(std::chrono::steady_clock::now() - start_);
  std::string out = source_.text();
  // An estimate from the first per cent of the work would mislead.
  if (share > 0.01 && share < 1.0) {
    out += fmt::format(", {} left", format_duration(elapsed * (1.0 - share) / share));
  }
  return out;
}

std::string format_duration(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace sluice::cli
