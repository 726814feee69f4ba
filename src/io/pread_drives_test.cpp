// Weights come through these reads: a byte that is missing at the end of a file, or lost to a short
// read, would be a wrong weight.
#include "io/pread_drives.h"

#include "base/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

using Buffer = std::unique_ptr<std::byte, decltype(&std::free)>;

Buffer allocate(size_t bytes) {
  return {static_cast<std::byte*>(std::aligned_alloc(kBlockBytes, bytes)), &std::free};
}

// In the build folder: a temporary folder may be a file system that checks no alignment.
std::string write_file(const std::string& name, size_t bytes, uint32_t seed) {
  const std::filesystem::path folder =
      std::filesystem::path(SLUICE_BINARY_DIR) / ("pread-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / name).string();
  std::mt19937 random(seed);
  std::string data(bytes, '\0');
  for (char& c : data) c = static_cast<char>(random());
  std::ofstream(path, std::ios::binary) << data;
  return path;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

Completion read_one(PreadDrives& drives, DriveId drive, uint64_t offset,
                    std::span<std::byte> into) {
  drives.submit(std::vector<Read>{{{7}, drive, offset, into}});
  Completion done[2];
  for (;;) {
    if (drives.wait(done, std::chrono::seconds(10)) == 1) return done[0];
  }
}

class PreadDrivesTest : public testing::TestWithParam<bool> {};

TEST_P(PreadDrivesTest, ReadsEveryTail) {
  for (const size_t bytes : {1u, 511u, 4095u, 4096u, 4097u, 12288u, 20001u}) {
    const std::string path = write_file("tail", bytes, static_cast<uint32_t>(bytes));
    PreadDrives drives({path}, {.threads = 2, .direct = GetParam()});
    const std::string want = contents(path);
    const size_t room = round_up(bytes, kBlockBytes);
    const Buffer buffer = allocate(room);
    for (uint64_t offset = 0; offset < bytes; offset += kBlockBytes) {
      const std::span<std::byte> into(buffer.get(), room - offset);
      EXPECT_EQ(read_one(drives, {0}, offset, into).status, ReadStatus::kOk);
      EXPECT_EQ(std::memcmp(into.data(), want.data() + offset, bytes - offset), 0)
          << bytes << " from " << offset;
    }
  }
}

TEST_P(PreadDrivesTest, PastTheEndIsShort) {
  const std::string path = write_file("short", 5000, 1);
  PreadDrives drives({path}, {.threads = 1, .direct = GetParam()});
  const Buffer buffer = allocate(4 * kBlockBytes);
  EXPECT_EQ(read_one(drives, {0}, 0, {buffer.get(), 3 * kBlockBytes}).status, ReadStatus::kShort);
  EXPECT_EQ(read_one(drives, {0}, 8 * kBlockBytes, {buffer.get(), kBlockBytes}).status,
            ReadStatus::kShort);
}

TEST_P(PreadDrivesTest, FileCutAfterOpening) {
  const std::string path = write_file("cut", 4 * kBlockBytes, 2);
  PreadDrives drives({path}, {.threads = 1, .direct = GetParam()});
  std::filesystem::resize_file(path, kBlockBytes + 10);
  const Buffer buffer = allocate(4 * kBlockBytes);
  EXPECT_EQ(read_one(drives, {0}, 0, {buffer.get(), 4 * kBlockBytes}).status, ReadStatus::kShort);
}

TEST_P(PreadDrivesTest, ManyAtOnce) {
  constexpr size_t kFiles = 3, kReads = 200;
  std::vector<std::string> paths;
  for (uint32_t f = 0; f < kFiles; ++f)
    paths.push_back(write_file("many" + std::to_string(f), 64 * kBlockBytes, f));
  PreadDrives drives(paths, {.threads = 4, .direct = GetParam()});
  const Buffer buffer = allocate(kReads * kBlockBytes);
  std::vector<Read> reads;
  for (uint64_t i = 0; i < kReads; ++i) {
    reads.push_back({{i},
                     {static_cast<uint16_t>(i % kFiles)},
                     i * 7 % 64 * kBlockBytes,
                     {buffer.get() + i * kBlockBytes, kBlockBytes}});
  }
  drives.submit(reads);
  std::map<uint64_t, ReadStatus> done;
  while (done.size() < kReads) {
    Completion completions[16];
    const size_t count = drives.wait(completions, std::chrono::seconds(10));
    for (size_t i = 0; i < count; ++i)
      EXPECT_TRUE(done.emplace(completions[i].id.value, completions[i].status).second);
  }
  for (const Read& read : reads) {
    EXPECT_EQ(done[read.id.value], ReadStatus::kOk);
    const std::string want = contents(paths[read.drive.value]).substr(read.offset, kBlockBytes);
    EXPECT_EQ(std::memcmp(read.into.data(), want.data(), kBlockBytes), 0) << read.id.value;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, PreadDrivesTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "direct" : "buffered"; });

TEST(PreadDrives, SaysWhetherReadsAreDirect) {
  const std::string path = write_file("direct", 4096, 3);
  PreadDrives buffered({path}, {.threads = 1, .direct = false});
  EXPECT_FALSE(buffered.direct({0}));
  EXPECT_EQ(buffered.path({0}), path);
  // procfs has no direct reads: refused when the file is opened, and said so.
  PreadDrives refused({"/proc/self/status"}, {.threads = 1});
  EXPECT_FALSE(refused.direct({0}));
}

TEST(PreadDrives, MissingFileIsNamed) {
  try {
    PreadDrives drives({"/nonexistent/shard"}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string_view(error.what()).find("/nonexistent/shard"), std::string_view::npos);
  }
}

TEST(PreadDrives, ReleasedShardCountFitsTheSmallestUsualLimit) {
  constexpr size_t kShards = 96;
  constexpr rlim_t kDescriptors = 256;
  const std::string path = write_file("shard", kBlockBytes, 5);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = kDescriptors, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const Buffer buffer = allocate(kBlockBytes);
  {
    PreadDrives drives(std::vector<std::string>(kShards, path), {.threads = 1});
    EXPECT_EQ(
        read_one(drives, {kShards - 1}, 0, std::span(buffer.get(), size_t{kBlockBytes})).status,
        ReadStatus::kOk);
  }
  try {
    PreadDrives drives(std::vector<std::string>(kDescriptors, path), {.threads = 1});
    ADD_FAILURE() << "more files than descriptors";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string_view(error.what()).find("ulimit -n"), std::string_view::npos);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(PreadDrives, FileSystemThatRefusesToReadDirectly) {
  const std::string path = write_file("refuses", 3 * kBlockBytes, 6);
  PreadDrives drives({path}, {.threads = 1});
  if (!drives.direct({0})) GTEST_SKIP() << "no direct reads in the build folder";
  // A direct read into memory off its alignment is refused like one on such a file system. submit()
  // checks the alignment, so the memory is cut by as much as no file system accepts.
  InputFile file(path, InputFile::Access::kDirect);
  const Buffer buffer = allocate(2 * kBlockBytes);
  const std::span<std::byte> odd(buffer.get() + 1, kBlockBytes);
  ASSERT_EQ(file.read_some(0, odd), -EINVAL);
  file.stop_direct();
  EXPECT_FALSE(file.direct());
  EXPECT_EQ(file.read_some(0, odd), static_cast<int64_t>(kBlockBytes));
  EXPECT_EQ(std::memcmp(odd.data(), contents(path).data(), odd.size()), 0);
}

TEST(PreadDrives, DropsWhatHasNotBegun) {
  const std::string path = write_file("drop", 64 * kBlockBytes, 7);
  const Buffer buffer = allocate(64 * kBlockBytes);
  std::vector<Read> reads;
  for (uint64_t i = 0; i < 64; ++i)
    reads.push_back({{i}, {0}, i * kBlockBytes, {buffer.get() + i * kBlockBytes, kBlockBytes}});
  PreadDrives drives({path}, {.threads = 1});
  drives.submit(reads);  // The destructor must not hang on them, nor write after it.
}

TEST(PreadDrives, WakeEndsAWait) {
  const std::string path = write_file("wake", 4096, 4);
  PreadDrives drives({path}, {.threads = 1});
  drives.wake();
  Completion none[1];
  EXPECT_EQ(drives.wait(none, std::chrono::hours(1)), 0u);
  std::thread waker([&] { drives.wake(); });
  EXPECT_EQ(drives.wait(none, std::chrono::hours(1)), 0u);
  waker.join();
}

/// In a process of its own: starts readers until there is no room for another stack.
int exit_code_without_room_for_threads(const std::string& path) {
  const rlimit little{uint64_t{256} << 20, uint64_t{256} << 20};
  if (::setrlimit(RLIMIT_AS, &little) != 0) return 2;
  try {
    const PreadDrives drives({path}, {.threads = 10'000});
  } catch (const Error& error) {
    return error.code() == ErrorCode::kOutOfMemory ? 0 : 3;
  }
  return 1;
}

TEST(PreadDrivesDeathTest, SaysThatTheSystemRefusesThreads) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more address space than this limit leaves";
#endif
  const std::string path = write_file("threads", 4096, 8);
  EXPECT_EXIT(std::_Exit(exit_code_without_room_for_threads(path)), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::io
