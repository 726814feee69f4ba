#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>

#if defined(__linux__)
#include <sched.h>
#endif

#include "base/check.h"
#include "base/start_thread.h"

namespace sluice {
namespace {

// Longer than the gap between two operations of a layer, far shorter than a person notices.
constexpr std::chrono::microseconds kSpin{50};

// The parts of the gate.
constexpr uint64_t kInside = 0xffffffffu, kOpen = uint64_t{1} << 32;
constexpr int kGenerationShift = 33;

void pause_processor() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// Delegates, so that the destructor ends the workers that run when one cannot be started.
ThreadPool::ThreadPool(uint32_t threads) : ThreadPool() {
  SLUICE_CHECK(threads >= 1);
  workers_.reserve(threads - 1);
  for (uint32_t worker = 1; worker < threads; ++worker) {
    workers_.push_back(start_thread([this, worker] { work(worker); }));
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(const Job& job) {
  job_ = job;
  next_.store(0, std::memory_order_relaxed);
  const uint64_t generation = (gate_.load(std::memory_order_relaxed) >> kGenerationShift) + 1;
  {
    const std::lock_guard lock(mutex_);
    gate_.store(generation << kGenerationShift | kOpen, std::memory_order_release);
  }
  wake_.notify_all();
  drain(0);
  gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
  for (uint32_t spins = 0; (gate_.load(std::memory_order_acquire) & kInside) != 0; ++spins) {
    if (spins < 1000) {
      pause_processor();
    } else {
      std::this_thread::yield();
    }
  }
}

bool ThreadPool::may_enter(uint64_t seen) const {
  const uint64_t gate = gate_.load(std::memory_order_acquire);
  return (gate & kOpen) != 0 && gate >> kGenerationShift != seen;
}

void ThreadPool::drain(uint32_t worker) {
  for (;;) {
    const size_t begin = next_.fetch_add(job_.grain, std::memory_order_relaxed);
    if (begin >= job_.count) return;
    job_.call(job_.context, worker, begin, std::min(begin + job_.grain, job_.count));
  }
}

void ThreadPool::work(uint32_t worker) {
  uint64_t seen = 0;  // Generation of the last job that this worker entered.
  for (;;) {
    const auto spin_end = std::chrono::steady_clock::now() + kSpin;
    while (!may_enter(seen) && !stop_ && std::chrono::steady_clock::now() < spin_end)
      pause_processor();
    if (!may_enter(seen)) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || may_enter(seen); });
      if (stop_) return;
    }
    uint64_t gate = gate_.load(std::memory_order_relaxed);
    if ((gate & kOpen) == 0 ||
        !gate_.compare_exchange_strong(gate, gate + 1, std::memory_order_acq_rel)) {
      continue;  // Closed in the meantime, or another worker came first.
    }
    seen = gate >> kGenerationShift;
    drain(worker);
    gate_.fetch_sub(1, std::memory_order_release);
  }
}

uint32_t default_thread_count() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace sluice
