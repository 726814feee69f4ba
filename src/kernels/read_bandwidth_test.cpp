// Without these tests a ceiling could come of memory that nobody read.
#include "kernels/read_bandwidth.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

TEST(ReadBandwidth, EveryWordCountsOnce) {
  std::vector<uint64_t> words(4096 + 7);
  std::iota(words.begin(), words.end(), uint64_t{1});
  EXPECT_EQ(sum_words(words), uint64_t{4096} * 4097 / 2);
  EXPECT_EQ(sum_words({}), 0u);
}

TEST(ReadBandwidth, MeasuresOnceWhenThereIsNoTime) {
  const std::vector<uint64_t> words(1u << 20, 1);
  for (const uint32_t threads : {1u, 3u}) {
    ThreadPool pool(threads);
    EXPECT_GT(read_bandwidth(words, pool, Nanos{}), 0.0) << threads;
  }
}

}  // namespace
}  // namespace sluice::kernels
