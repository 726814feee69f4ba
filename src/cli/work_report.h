#pragma once
#include "cli/progress.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace sluice::cli {

/// How work on many bytes goes: a progress display for people, or a JSON line each second. Between
/// them the caller may print lines of its own.
class WorkReport {
 public:
  struct Settings {
    std::string what;    ///< "packed", for "packed 3 GiB of 5 GiB".
    uint64_t total = 0;  ///< Bytes.
    bool json = false;
    bool quiet = false;
  };
  explicit WorkReport(Settings settings);

  /// So many bytes more are done. By one thread.
  void advance(uint64_t bytes);
  /// Nothing is shown from here on.
  void stop() { progress_.stop(); }
  [[nodiscard]] uint64_t done() const { return done_; }
  [[nodiscard]] double seconds() const;

 private:
  [[nodiscard]] double share() const;
  [[nodiscard]] std::string text() const;

  const Settings settings_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<uint64_t> done_{0};
  double told_ = 0.0;
  Progress progress_;
};

}  // namespace sluice::cli
