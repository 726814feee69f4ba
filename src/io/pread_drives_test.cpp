// What only the threads have: they may be refused by the system, and then nothing may hang. Their
// reads are tested with those of the other drives.
#include "io/pread_drives.h"

#include "base/error.h"
#include "io/test_files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

TEST(PreadDrives, FileSystemThatRefusesToReadDirectly) {
  const TestFolder folder;
  const std::string path = folder.write("refuses", 3 * kBlockBytes, 6);
  InputFile file(path, InputFile::Access::kDirect);
  if (!file.direct()) GTEST_SKIP() << "no direct reads in the build folder";
  // A direct read into memory off its alignment is refused like one on such a file system. submit()
  // checks the alignment, so the memory is cut by as much as no file system accepts.
  const BlockBuffer buffer(2 * kBlockBytes);
  const std::span<std::byte> odd = buffer.part(1, kBlockBytes);
  ASSERT_EQ(file.read_some(0, odd), -EINVAL);
  file.stop_direct();
  EXPECT_FALSE(file.direct());
  EXPECT_EQ(file.read_some(0, odd), static_cast<int64_t>(kBlockBytes));
  EXPECT_EQ(std::memcmp(odd.data(), contents(path).data(), odd.size()), 0);
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
  const TestFolder folder;
  const std::string path = folder.write("threads", 4096, 8);
  EXPECT_EXIT(std::_Exit(exit_code_without_room_for_threads(path)), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice::io
