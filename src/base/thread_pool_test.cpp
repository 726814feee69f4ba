// Without these, an item could be skipped, done twice, or a worker left behind by a quick sequence
// of jobs.
#include "base/thread_pool.h"

#include "base/error.h"

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ThreadPool, CoversEachItemOnce) {
  for (const uint32_t threads : {1u, 2u, 3u, 7u}) {
    ThreadPool pool(threads);
    for (const size_t count : {0u, 1u, 2u, 7u, 64u, 1000u}) {
      for (const size_t grain : {1u, 3u, 64u, 5000u}) {
        std::vector<std::atomic<int>> done(count);
        pool.parallel_for(count, grain, [&](uint32_t worker, size_t begin, size_t end) {
          EXPECT_LT(worker, threads);
          for (size_t i = begin; i < end; ++i) ++done[i];
        });
        for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
      }
    }
  }
}

TEST(ThreadPool, ManyShortJobsInARow) {
  ThreadPool pool(4);
  std::atomic<uint64_t> sum = 0;
  for (int job = 0; job < 5000; ++job) {
    pool.parallel_for(16, 1, [&](uint32_t, size_t begin, size_t) { sum += begin; });
  }
  EXPECT_EQ(sum, 5000u * (15 * 16 / 2));
}

/// In a process of its own: starts threads until there is no room for another stack.
int exit_code_without_room_for_threads() {
  const rlimit little{uint64_t{256} << 20, uint64_t{256} << 20};
  if (::setrlimit(RLIMIT_AS, &little) != 0) return 2;
  try {
    const ThreadPool pool(10'000);
  } catch (const Error& error) {
    return std::string_view(error.what()).find("--threads") == std::string_view::npos ? 3 : 0;
  }
  return 1;
}

TEST(ThreadPoolDeathTest, SaysThatTheSystemRefusesThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more address space than this limit leaves";
#endif
  EXPECT_EXIT(std::_Exit(exit_code_without_room_for_threads()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
