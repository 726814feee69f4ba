// Without these tests the speed of memory, or of a file that was never written, could be reported
// as that of a drive, and measuring could leave files behind.
#include "io/bench_file.h"

#include "base/error.h"
#include "io/input_file.h"
#include "io/page_cache.h"
#include "io/test_files.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uint64_t kBytes = 8u << 20;

TEST(BenchFile, ANewFileIsFullOfDifferentBlocksAndGone) {
  const TestFolder folder;
  const BenchFile file(folder.path(), {.bytes = kBytes + 1});
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_EQ(file.bytes(), 2 * kBytes);
  EXPECT_GT(file.write_bytes_per_second(), 0);
  std::vector<std::byte> all(file.bytes());
  InputFile(file.open_path()).read(0, all);
  std::set<std::string> blocks;
  for (size_t at = 0; at < all.size(); at += kBlockBytes) {
    blocks.emplace(reinterpret_cast<const char*>(all.data() + at), kBlockBytes);
  }
  EXPECT_EQ(blocks.size(), all.size() / kBlockBytes);
}

TEST(BenchFile, WhatSitsInThePageCacheIsRefusedUntilItIsDropped) {
  const TestFolder folder;
  const std::string path = folder.write("data", kBytes, 1);
  std::vector<std::byte> all(kBytes);
  const InputFile file(path);
  file.read(0, all);
  if (!cached_bytes(file.descriptor(), kBytes)) {
    GTEST_SKIP() << "this system does not say what its page cache holds";
  }
  EXPECT_THAT(BenchFile(path, {}).trouble(), HasSubstr("page cache"));
  EXPECT_THAT(BenchFile(path, {}).trouble(), HasSubstr("--drop-cache"));
  const BenchFile dropped(path, {.drop_cache = true});
  EXPECT_EQ(dropped.trouble(), "");
  EXPECT_EQ(dropped.trouble_after(kBytes), "");
  // A file system that ignores the wish to go around the page cache leaves such traces.
  file.read(0, all);
  EXPECT_THAT(dropped.trouble_after(kBytes), HasSubstr("in name only"));
}

TEST(BenchFile, WhatWasNeverWrittenIsRefused) {
  const TestFolder folder;
  const std::string path = folder.write("data", kBytes, 1);
  fs::resize_file(path, 2 * kBytes);
  EXPECT_THAT(BenchFile(path, {.drop_cache = true}).trouble(), HasSubstr("never written"));
}

TEST(BenchFile, MemoryIsNoDrive) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no file system in memory here";
  const TestFolder folder("/dev/shm");
  EXPECT_THAT(BenchFile(folder.path(), {}).trouble(), HasSubstr("is memory"));
  EXPECT_THAT(BenchFile(folder.write("data", kBytes, 1), {}).trouble(), HasSubstr("is memory"));
}

TEST(BenchFile, NamesWhatIsNotThere) {
  try {
    const BenchFile file("none/at/all", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("none/at/all"));
  }
}

}  // namespace
}  // namespace sluice::io
