#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace sluice::cli {

/// Shows on standard error how far long work has come while it lives: a line that rewrites itself
/// on a terminal, a new line every few seconds elsewhere. Has a thread of its own, so the work only
/// has to make its figures readable.
class Progress {
 public:
  /// What is being done and how far it is. Called on the display's thread.
  struct Source {
    std::function<std::string()> text;
    std::function<double()> share;  ///< Done of all, 0 to 1.
  };
  /// Shows nothing when `quiet`.
  Progress(Source source, bool quiet);
  ~Progress() { stop(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Takes the line away; nothing is shown from here on.
  void stop();

 private:
  void show_until_stopped();
  [[nodiscard]] std::string line() const;

  const Source source_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // Guards stopped_.
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

/// "45 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace sluice::cli
