// Without these tests the speed of memory could be reported as that of a drive.
#include "io/page_cache.h"

#include "io/input_file.h"
#include "io/test_files.h"

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

TEST(PageCache, KnowsWhatWasReadAndWhatWasDropped) {
  constexpr uint64_t kBytes = 8u << 20;
  const TestFolder folder;
  const InputFile file(folder.write("data", kBytes, 1));
  drop_cached(file.descriptor());
  if (!cached_bytes(file.descriptor(), kBytes)) {
    GTEST_SKIP() << "this system does not say what its page cache holds";
  }
  std::vector<std::byte> all(kBytes);
  file.read(0, all);
  EXPECT_EQ(cached_bytes(file.descriptor(), kBytes), kBytes);
  EXPECT_EQ(cached_bytes(file.descriptor(), kBytes / 2), kBytes / 2);
  drop_cached(file.descriptor());
  EXPECT_EQ(cached_bytes(file.descriptor(), kBytes), 0u);
}

}  // namespace
}  // namespace sluice::io
