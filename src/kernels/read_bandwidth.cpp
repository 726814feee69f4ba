#include "kernels/read_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace sluice::kernels {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define SLUICE_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SLUICE_WIDEST
#endif

SLUICE_WIDEST uint64_t sum_words(std::span<const uint64_t> words) {
  constexpr size_t kLanes = 32;
  uint64_t sums[kLanes] = {};
  const uint64_t* const data = words.data();
  for (size_t i = 0; i + kLanes <= words.size(); i += kLanes) {
    for (size_t k = 0; k < kLanes; ++k) sums[k] += data[i + k];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

double read_bandwidth(std::span<const uint64_t> words, ThreadPool& pool, Nanos duration) {
  using Clock = std::chrono::steady_clock;
  // Small enough that threads which are held up take fewer of them.
  constexpr size_t kPartWords = (size_t{2} << 20) / sizeof(uint64_t);
  std::atomic<uint64_t> sum{0};  // Keeps the reading from being left out.
  Nanos best = Nanos::max();
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point start = Clock::now();
    pool.parallel_for(words.size(), kPartWords, [&](uint32_t, size_t from, size_t to) {
      sum.fetch_add(sum_words(words.subspan(from, to - from)), std::memory_order_relaxed);
    });
    best = std::min<Nanos>(best, Clock::now() - start);
  } while (Clock::now() - begin < duration);
  return static_cast<double>(words.size_bytes()) / std::chrono::duration<double>(best).count();
}

}  // namespace sluice::kernels
