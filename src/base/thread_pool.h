#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace sluice {

/// Workers that fork and join inside one operation. One thread calls parallel_for(); the caller
/// works too, so a pool of one has no threads of its own. Between operations the workers spin for
/// some microseconds, then sleep.
class ThreadPool {
 public:
  /// `threads` >= 1, the caller included. Throws Error as start_thread() does.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] uint32_t threads() const { return static_cast<uint32_t>(workers_.size()) + 1; }

  /// Calls body(worker, begin, end) for disjoint ranges of at most `grain` items that cover [0,
  /// count), and returns when all are done. `worker` < threads(). Which worker gets which range is
  /// not defined, so no result may depend on it. `body` must not throw and must not call
  /// parallel_for.
  template <class Body>
  void parallel_for(size_t count, size_t grain, Body&& body) {
    if (workers_.empty() || count <= grain) {
      if (count > 0) body(uint32_t{0}, size_t{0}, count);
      return;
    }
    using Decayed = std::remove_reference_t<Body>;
    run({[](void* context, uint32_t worker, size_t begin, size_t end) {
           (*static_cast<Decayed*>(context))(worker, begin, end);
         },
         &body, count, grain});
  }

 private:
  ThreadPool() = default;

  struct Job {
    void (*call)(void* context, uint32_t worker, size_t begin, size_t end) = nullptr;
    void* context = nullptr;
    size_t count = 0, grain = 1;
  };
  void run(const Job& job);
  void work(uint32_t worker);
  [[nodiscard]] bool may_enter(uint64_t seen) const;
  void drain(uint32_t worker);

  Job job_;                      // Written while the gate is closed and nobody is inside.
  std::atomic<size_t> next_{0};  // First item that nobody has taken.
  // Generation of the job, whether workers may still enter, and how many are inside. A worker that
  // has not entered yet owes nothing, so one that shares a processor with the caller cannot hold it
  // up.
  std::atomic<uint64_t> gate_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // Guards the sleep of idle workers.
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

/// A thread count for this machine: the processors that this process may use.
[[nodiscard]] uint32_t default_thread_count();

}  // namespace sluice
