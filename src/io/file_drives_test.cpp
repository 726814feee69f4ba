// Weights come through these reads, by pread or io_uring: a byte that is missing at the end of a
// file, or lost to a short read, would be a wrong weight, and a lost wake-up would be a hang.
#include "base/error.h"
#include "io/input_file.h"
#include "io/pread_drives.h"
#include "io/test_files.h"
#include "io/uring_drives.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

/// A way to read files. Few reads go at once, so that the others have to wait for their turn.
struct Way {
  const char* name;
  bool uring, direct;
  bool registered = false;  ///< The memory of each test is told to the drives.
};

class FileDrivesTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (!GetParam().uring) return;
    const UringResult ring = make_uring_drives({folder_.write("probe", 1, 0)}, {});
    if (!ring.drives) GTEST_SKIP() << "no io_uring: " << ring.refusal;
  }

  [[nodiscard]] std::unique_ptr<DriveArray> open(const std::vector<std::string>& paths,
                                                 std::span<std::byte> memory = {}) const {
    const Way& way = GetParam();
    std::unique_ptr<DriveArray> drives;
    if (way.uring) {
      drives = make_uring_drives(paths, {.reads_in_flight = 3, .direct = way.direct}).drives;
    } else {
      drives =
          std::make_unique<PreadDrives>(paths, PreadOptions{.threads = 3, .direct = way.direct});
    }
    if (way.registered) drives->use_memory(memory);
    return drives;
  }

  const TestFolder folder_;
};

TEST_P(FileDrivesTest, ReadsEveryTail) {
  for (const size_t bytes : {1u, 511u, 4095u, 4096u, 4097u, 12288u, 20001u}) {
    const std::string path = folder_.write("tail", bytes, static_cast<uint32_t>(bytes));
    const BlockBuffer buffer(bytes);
    const std::unique_ptr<DriveArray> drives = open({path}, buffer.all());
    const std::string want = contents(path);
    for (uint64_t offset = 0; offset < bytes; offset += kBlockBytes) {
      const std::span<std::byte> into = buffer.all().subspan(offset);
      EXPECT_EQ(read_one(*drives, {0}, offset, into).status, ReadStatus::kOk);
      EXPECT_EQ(std::memcmp(into.data(), want.data() + offset, bytes - offset), 0)
          << bytes << " from " << offset;
    }
  }
}

TEST_P(FileDrivesTest, PastTheEndIsShort) {
  const std::string path = folder_.write("short", 5000, 1);
  const BlockBuffer buffer(4 * kBlockBytes);
  const std::unique_ptr<DriveArray> drives = open({path}, buffer.all());
  EXPECT_EQ(read_one(*drives, {0}, 0, buffer.part(0, 3 * kBlockBytes)).status, ReadStatus::kShort);
  EXPECT_EQ(read_one(*drives, {0}, 8 * kBlockBytes, buffer.part(0, kBlockBytes)).status,
            ReadStatus::kShort);
}

TEST_P(FileDrivesTest, FileCutAfterOpening) {
  const std::string path = folder_.write("cut", 4 * kBlockBytes, 2);
  const BlockBuffer buffer(4 * kBlockBytes);
  const std::unique_ptr<DriveArray> drives = open({path}, buffer.all());
  std::filesystem::resize_file(path, kBlockBytes + 10);
  EXPECT_EQ(read_one(*drives, {0}, 0, buffer.all()).status, ReadStatus::kShort);
}

/// Reads of `bytes` each, one after another through all files, and where they go in the buffer.
std::vector<Read> consecutive_reads(size_t count, size_t bytes, size_t files, size_t file_bytes,
                                    const BlockBuffer& buffer) {
  std::vector<Read> reads;
  for (uint64_t i = 0; i < count; ++i) {
    reads.push_back({{i},
                     {static_cast<uint16_t>(i % files)},
                     i * 7 % (file_bytes / bytes) * bytes,
                     buffer.part(i * bytes, bytes)});
  }
  return reads;
}

/// Waits for `count` reads; each may end once only.
std::map<uint64_t, ReadStatus> wait_for(DriveArray& drives, size_t count) {
  std::map<uint64_t, ReadStatus> done;
  while (done.size() < count) {
    Completion completions[16];
    const size_t some = drives.wait(completions, std::chrono::seconds(10));
    for (const Completion& completion : std::span(completions).first(some)) {
      EXPECT_TRUE(done.emplace(completion.id.value, completion.status).second);
    }
  }
  return done;
}

bool holds(const Read& read, const std::string& file) {
  return std::memcmp(read.into.data(), file.data() + read.offset, read.into.size()) == 0;
}

// More files than the release has shards, and many small reads.
TEST_P(FileDrivesTest, ManyAtOnce) {
  constexpr size_t kFiles = 100, kReads = 3000, kFileBytes = 16 * kBlockBytes;
  std::vector<std::string> paths, want;
  for (uint32_t f = 0; f < kFiles; ++f) {
    paths.push_back(folder_.write("many" + std::to_string(f), kFileBytes, f));
    want.push_back(contents(paths.back()));
  }
  const BlockBuffer buffer(kReads * kBlockBytes);
  const std::unique_ptr<DriveArray> drives = open(paths, buffer.all());
  const std::vector<Read> reads =
      consecutive_reads(kReads, kBlockBytes, kFiles, kFileBytes, buffer);
  drives->submit(std::span(reads).first(kReads / 2));
  drives->submit(std::span(reads).subspan(kReads / 2));
  const std::map<uint64_t, ReadStatus> done = wait_for(*drives, kReads);
  for (const Read& read : reads) {
    EXPECT_EQ(done.at(read.id.value), ReadStatus::kOk);
    EXPECT_TRUE(holds(read, want[read.file.value])) << read.id.value;
  }
}

TEST_P(FileDrivesTest, FileCutWhileReading) {
  constexpr size_t kReads = 64, kReadBytes = 16 * kBlockBytes, kKept = 20;
  const std::string path = folder_.write("cutting", kReads * kReadBytes, 9);
  const std::string want = contents(path);
  const BlockBuffer buffer(kReads * kReadBytes);
  const std::unique_ptr<DriveArray> drives = open({path}, buffer.all());
  const std::vector<Read> reads =
      consecutive_reads(kReads, kReadBytes, 1, kReads * kReadBytes, buffer);
  drives->submit(reads);
  std::filesystem::resize_file(path, kKept * kReadBytes);
  const std::map<uint64_t, ReadStatus> done = wait_for(*drives, kReads);
  for (const Read& read : reads) {
    const bool kept = read.offset < kKept * kReadBytes;
    const ReadStatus status = done.at(read.id.value);
    EXPECT_TRUE(status == ReadStatus::kOk || (!kept && status == ReadStatus::kShort));
    EXPECT_TRUE(!kept || holds(read, want)) << read.id.value;
  }
}

TEST_P(FileDrivesTest, SaysWhetherReadsAreDirect) {
  const std::string path = folder_.write("direct", kBlockBytes, 3);
  const std::unique_ptr<DriveArray> drives = open({path});
  const InputFile file(path, InputFile::Access::kDirect);
  EXPECT_EQ(drives->direct({0}), GetParam().direct && file.direct());
  EXPECT_EQ(drives->path({0}), path);
  // procfs has no direct reads: refused when the file is opened, and said so.
  EXPECT_FALSE(open({"/proc/self/status"})->direct({0}));
}

TEST_P(FileDrivesTest, MissingFileIsNamed) {
  try {
    (void)open({"/nonexistent/shard"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_NE(std::string_view(error.what()).find("/nonexistent/shard"), std::string_view::npos);
  }
}

TEST_P(FileDrivesTest, ReleasedShardCountFitsTheSmallestUsualLimit) {
  constexpr size_t kShards = 96;
  constexpr rlim_t kDescriptors = 256;
  const std::string path = folder_.write("shard", kBlockBytes, 5);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = kDescriptors, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const BlockBuffer buffer(kBlockBytes);
  const std::unique_ptr<DriveArray> drives = open(std::vector<std::string>(kShards, path));
  EXPECT_EQ(read_one(*drives, {kShards - 1}, 0, buffer.all()).status, ReadStatus::kOk);
  try {
    (void)open(std::vector<std::string>(kDescriptors, path));
    ADD_FAILURE() << "more files than descriptors";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string_view(error.what()).find("ulimit -n"), std::string_view::npos);
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// The destructor must not hang on reads, and nothing may be written after it: then every block is
// untouched or whole.
TEST_P(FileDrivesTest, EndsWithReadsUnderWay) {
  constexpr size_t kReads = 64, kReadBytes = 16 * kBlockBytes;
  const std::string path = folder_.write("drop", kReads * kReadBytes, 7);
  const std::string want = contents(path);
  const BlockBuffer buffer(kReads * kReadBytes);
  const std::string untouched(kReadBytes, 'x');
  std::memset(buffer.all().data(), 'x', buffer.all().size());
  const std::vector<Read> reads =
      consecutive_reads(kReads, kReadBytes, 1, kReads * kReadBytes, buffer);
  open({path}, buffer.all())->submit(reads);
  for (const Read& read : reads) {
    const bool dropped = std::memcmp(read.into.data(), untouched.data(), kReadBytes) == 0;
    EXPECT_TRUE(dropped || holds(read, want)) << read.id.value;
  }
}

TEST_P(FileDrivesTest, WaitEndsByItself) {
  const std::unique_ptr<DriveArray> drives = open({folder_.write("wait", kBlockBytes, 4)});
  Completion none[1];
  EXPECT_EQ(drives->wait(none, Nanos(0)), 0u);
  EXPECT_EQ(drives->wait(none, std::chrono::milliseconds(1)), 0u);
}

TEST_P(FileDrivesTest, WakeEndsAWait) {
  const std::unique_ptr<DriveArray> drives = open({folder_.write("wake", kBlockBytes, 4)});
  drives->wake();
  Completion none[1];
  EXPECT_EQ(drives->wait(none, Nanos::max()), 0u);
  std::thread waker([&] { drives->wake(); });
  EXPECT_EQ(drives->wait(none, Nanos::max()), 0u);
  waker.join();
}

// Each round needs its wake-up: one that is lost leaves the test hanging.
TEST_P(FileDrivesTest, NoWakeUpIsLost) {
  constexpr uint32_t kRounds = 2000;
  const BlockBuffer buffer(kBlockBytes);
  const std::unique_ptr<DriveArray> drives =
      open({folder_.write("rounds", kBlockBytes, 4)}, buffer.all());
  const Read read{{1}, {0}, 0, buffer.all()};
  std::atomic<uint32_t> begun = 0, woken = 0;
  std::thread waker([&] {
    for (uint32_t round = 1; round <= kRounds; ++round) {
      while (begun.load() < round) begun.wait(round - 1);
      woken = round;
      drives->wake();
    }
  });
  // Beside it one read after another ends, which must neither hide a wake-up nor get lost in one.
  size_t submitted = 0, ended = 0;
  Completion done[4];
  for (uint32_t round = 1; round <= kRounds; ++round) {
    begun = round;
    begun.notify_one();
    if (ended == submitted) {
      drives->submit({&read, 1});
      ++submitted;
    }
    while (woken.load() < round) ended += drives->wait(done, Nanos::max());
  }
  waker.join();
  while (ended < submitted) ended += drives->wait(done, std::chrono::seconds(10));
  EXPECT_EQ(ended, submitted);
}

INSTANTIATE_TEST_SUITE_P(Ways, FileDrivesTest,
                         testing::Values(Way{"pread_direct", false, true},
                                         Way{"pread_buffered", false, false},
                                         Way{"uring_direct", true, true},
                                         Way{"uring_buffered", true, false},
                                         Way{"uring_registered", true, true, true}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sluice::io
