#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice::server {

/// What a connection has to send yet. One thread fills it, answer by answer, and another empties
/// it; any thread may call gone().
class HttpOutbox {
 public:
  /// With more than `unsent_bytes` in it the filling thread waits. `wake` is called by the filling
  /// thread when there is something new.
  HttpOutbox(uint64_t unsent_bytes, std::function<void()> wake);

  // For the thread that fills it:

  void put(std::string_view bytes);
  void wait_for_room();
  /// The answer is whole, and the connection stays open for another or not.
  void finish(bool keep_alive);
  [[nodiscard]] bool gone() const;

  // For the thread that empties it:

  struct Batch {
    std::string bytes{};
    bool last = false;  ///< The answer ends with them,
    bool keep_alive = false;
  };
  /// All that there is. The end of an answer is told once.
  [[nodiscard]] Batch take();
  /// So many of the bytes that were taken have been sent.
  void sent(size_t bytes);
  /// The client sends nothing more, so most likely it has gone; what there is for it is still sent.
  void set_gone();
  /// The client cannot be reached: what there is for it is dropped.
  void close();

 private:
  const uint64_t unsent_bytes_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  // Under the mutex.
  Batch batch_{};
  uint64_t taken_ = 0;  // Bytes, not sent yet.
  bool gone_ = false, closed_ = false;
};

}  // namespace sluice::server
