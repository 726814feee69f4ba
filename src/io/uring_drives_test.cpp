// What only a ring can do wrong: memory that was told to it before, reads that span its buffers,
// sectors larger than a page of most drives, and a system that lets no one have a ring.
#include "io/uring_drives.h"

#include "base/error.h"
#include "io/open_drives.h"
#include "io/pread_drives.h"
#include "io/test_files.h"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

#if defined(__linux__)

constexpr size_t kBufferBytes = size_t{1} << 30;  // The most that the kernel takes as one buffer.

class UringDrivesTest : public testing::Test {
 protected:
  void SetUp() override {
    UringResult ring = make_uring_drives({path_}, {});
    if (!ring.drives) GTEST_SKIP() << "no io_uring: " << ring.refusal;
    drives_ = std::move(ring.drives);
  }
  [[nodiscard]] bool right(uint64_t offset, std::span<const std::byte> bytes) const {
    return std::memcmp(bytes.data(), want_.data() + offset, bytes.size()) == 0;
  }

  const TestFolder folder_;
  const std::string path_ = folder_.write("file", 64 * kBlockBytes, 1);
  const std::string want_ = contents(path_);
  std::unique_ptr<DriveArray> drives_;
};

// A mapping of 65 times the same memory, so that the test needs little of it.
TEST_F(UringDrivesTest, ReadsAcrossRegisteredBuffers) {
  constexpr size_t kPart = size_t{16} << 20, kBytes = kBufferBytes + kPart;
  const int memory = ::memfd_create("part", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(memory, kPart), 0);
  void* const mapped =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::span<std::byte> all(static_cast<std::byte*>(mapped), kBytes);
  for (size_t at = 0; at < kBytes; at += kPart) {
    ASSERT_NE(
        ::mmap(all.data() + at, kPart, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0),
        MAP_FAILED);
  }
  ::close(memory);
  drives_->use_memory(all);
  if (drives_->method().find("registered") == std::string::npos) {
    GTEST_SKIP() << "the limit on locked memory does not allow " << kBytes << " bytes";
  }
  for (const size_t at : {kBufferBytes - 2 * kBlockBytes, kBufferBytes - kBlockBytes, kBufferBytes,
                          kBytes - 2 * kBlockBytes}) {
    const std::span<std::byte> into = all.subspan(at, 2 * kBlockBytes);
    std::memset(into.data(), 0, into.size());
    const uint64_t offset = at / kBlockBytes % 32 * kBlockBytes;
    EXPECT_EQ(read_one(*drives_, {0}, offset, into).status, ReadStatus::kOk);
    EXPECT_TRUE(right(offset, into)) << "at " << at;
  }
  drives_->use_memory({});
  ::munmap(mapped, kBytes);
}

// Addresses come back with other pages behind them; the ring must not know the old ones.
TEST_F(UringDrivesTest, MemoryThatWasMappedAnew) {
  constexpr size_t kBytes = 16 * kBlockBytes;
  void* const mapped =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::span<std::byte> memory(static_cast<std::byte*>(mapped), kBytes);
  const BlockBuffer elsewhere(kBlockBytes);
  for (uint64_t time = 0; time < 3; ++time) {
    drives_->use_memory(memory);
    const uint64_t offset = time * kBytes;
    EXPECT_EQ(read_one(*drives_, {0}, offset, memory).status, ReadStatus::kOk);
    EXPECT_TRUE(right(offset, memory));
    EXPECT_EQ(read_one(*drives_, {0}, offset, elsewhere.all()).status, ReadStatus::kOk);
    EXPECT_TRUE(right(offset, elsewhere.all())) << "memory that was not told";
    drives_->use_memory({});
    ASSERT_EQ(::mmap(mapped, kBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              mapped);
  }
  EXPECT_EQ(read_one(*drives_, {0}, 0, memory).status, ReadStatus::kOk);
  EXPECT_TRUE(right(0, memory)) << "after it was taken back";
  ::munmap(mapped, kBytes);
}

TEST_F(UringDrivesTest, WhatHasNoPlaceWaitsInOrder) {
  const std::unique_ptr<DriveArray> drives =
      make_uring_drives({path_}, {.reads_in_flight = 1}).drives;
  const BlockBuffer buffer(64 * kBlockBytes);
  std::vector<Read> reads;
  for (uint64_t i = 0; i < 32; ++i) {
    reads.push_back(
        {{i}, {0}, 2 * i * kBlockBytes, buffer.part(2 * i * kBlockBytes, 2 * kBlockBytes)});
  }
  drives->submit(reads);
  Completion done[1];
  for (uint64_t i = 0; i < reads.size();) {
    if (drives->wait(done, std::chrono::seconds(10)) == 0) continue;
    EXPECT_EQ(done[0].id.value, i++) << "one at a time, so in order";
    EXPECT_EQ(done[0].status, ReadStatus::kOk);
  }
  EXPECT_TRUE(right(0, buffer.all()));
}

/// The output of a command, without the last line feed; empty when it fails.
std::string shell(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (::pclose(pipe) != 0) return {};
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// An ext4 file system on a loop device whose sectors have 4096 bytes, as those of many SSDs.
class LoopMount {
 public:
  explicit LoopMount(const std::filesystem::path& folder)
      : image_(folder / "image"), mount_(folder / "mount") {
    std::filesystem::create_directories(mount_);
    std::ofstream{image_}.close();
    std::filesystem::resize_file(image_, 32u << 20);
    device_ = shell("losetup --find --show --sector-size 4096 '" + image_.string() + "'");
    if (device_.empty()) return;
    mounted_ = shell("mkfs.ext4 -q " + device_ + " && mount " + device_ + " '" + mount_.string() +
                     "' && echo yes") == "yes";
  }
  ~LoopMount() {
    const std::string unmount = "umount '" + mount_.string() + "' && echo yes";
    EXPECT_TRUE(!mounted_ || shell(unmount) == "yes") << "the file system is still in use";
    if (!device_.empty()) shell("losetup --detach " + device_);
  }
  LoopMount(const LoopMount&) = delete;
  LoopMount& operator=(const LoopMount&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return mount_; }

 private:
  const std::filesystem::path image_, mount_;
  std::string device_;
  bool mounted_ = false;
};

// Blocks are as long as these sectors, so all reads stay direct; and a drive that was closed can be
// taken away.
TEST_F(UringDrivesTest, SectorsOf4096Bytes) {
  const LoopMount mount(folder_.path());
  if (!mount.mounted()) GTEST_SKIP() << "needs root, losetup, mkfs.ext4 and a loop device";
  const TestFolder folder(mount.folder());
  const std::string path = folder.write("file", 20'001, 3);
  const std::string want = contents(path);
  const BlockBuffer buffer(20'001);
  const InputFile file(path, InputFile::Access::kDirect);
  ASSERT_TRUE(file.direct());
  ASSERT_EQ(file.read_some(512, buffer.part(0, kBlockBytes)), -EINVAL) << "alignment is enforced";
  std::vector<std::unique_ptr<DriveArray>> both;
  both.push_back(make_uring_drives({path}, {}).drives);
  both.push_back(std::make_unique<PreadDrives>(std::vector{path}, PreadOptions{}));
  for (const std::unique_ptr<DriveArray>& drives : both) {
    for (uint64_t offset = 0; offset < 20'001; offset += kBlockBytes) {
      const std::span<std::byte> into = buffer.all().subspan(offset);
      std::memset(into.data(), 0, into.size());
      EXPECT_EQ(read_one(*drives, {0}, offset, into).status, ReadStatus::kOk);
      EXPECT_EQ(std::memcmp(into.data(), want.data() + offset, 20'001 - offset), 0) << offset;
    }
    EXPECT_TRUE(drives->direct({0})) << drives->method();
  }
}

/// From here on the system refuses rings to this process, as containers do.
bool forbid_rings(int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (static_cast<unsigned>(error) & 0xffffu)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/// In a process of its own: 0 when threads read instead and the reason is told.
int exit_code_without_rings(const std::string& path, int error, const std::string& reason) {
  if (!forbid_rings(error)) return 2;
  const OpenedDrives opened = open_drives({path}, {});
  const std::string method = describe_method(opened);
  std::fprintf(stderr, "%s\n", method.c_str());
  if (method.find("pread") != 0 || method.find(reason) == std::string::npos) return 3;
  const BlockBuffer buffer(kBlockBytes);
  if (read_one(*opened.drives, {0}, 0, buffer.all()).status != ReadStatus::kOk) return 4;
  try {
    (void)open_drives({path}, {.method = ReadMethod::kUring});
  } catch (const Error& refused) {
    const std::string_view text = refused.what();
    const bool told = text.find(reason) != text.npos && text.find("--io pread") != text.npos;
    return refused.code() == ErrorCode::kUnsupported && told ? 0 : 5;
  }
  return 6;
}

using OpenDrivesDeathTest = UringDrivesTest;

TEST_F(OpenDrivesDeathTest, SaysWhyThereIsNoRing) {
  const std::pair<int, std::string> cases[] = {
      {EPERM, "not permitted"}, {ENOSYS, "has none"}, {ENOMEM, std::strerror(ENOMEM)}};
  for (const auto& [error, reason] : cases) {
    EXPECT_EXIT(std::_Exit(exit_code_without_rings(path_, error, reason)),
                testing::ExitedWithCode(0), reason);
  }
}

#endif

TEST(OpenDrives, TakesTheMethodThatIsAskedFor) {
  const TestFolder folder;
  const std::string path = folder.write("file", 1, 0);
  const OpenedDrives threads = open_drives({path}, {.method = ReadMethod::kPread});
  EXPECT_EQ(describe_method(threads).find("pread on "), 0u);
  const OpenedDrives any = open_drives({path}, {});
  EXPECT_EQ(any.no_uring.empty(), any.drives->method() == "io_uring");
}

}  // namespace
}  // namespace sluice::io
