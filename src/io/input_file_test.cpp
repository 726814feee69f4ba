// Headers and small weights come through this: a read that is cut in two must be joined, and a file
// that ends early must not pass for zeros.
#include "io/input_file.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

namespace fs = std::filesystem;

class InputFileTest : public testing::Test {
 protected:
  InputFileTest() {
    fs::create_directories(path_.parent_path());
    std::ofstream(path_, std::ios::binary) << "0123456789";
  }
  ~InputFileTest() override { fs::remove_all(path_.parent_path()); }

  const fs::path path_ =
      fs::path(SLUICE_BINARY_DIR) / ("input-file-test-" + std::to_string(::getpid())) / "file";
};

ErrorCode code_of(const std::function<void()>& action, std::string_view part) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kCancelled;
}

TEST_F(InputFileTest, ReadsExactly) {
  const InputFile file(path_.string());
  EXPECT_EQ(file.bytes(), 10u);
  EXPECT_FALSE(file.direct());
  std::string text(4, ' ');
  file.read(3, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "3456");
}

TEST_F(InputFileTest, EndIsAnErrorThatSaysWhere) {
  const InputFile file(path_.string());
  std::vector<std::byte> bytes(5);
  EXPECT_EQ(code_of([&] { file.read(8, bytes); }, "byte 10"), ErrorCode::kIo);
}

TEST_F(InputFileTest, WhatCannotBeOpenedIsNamed) {
  const std::string missing = path_.string() + "-missing";
  EXPECT_EQ(code_of([&] { InputFile file(missing); }, missing), ErrorCode::kNotFound);
  const std::string folder = path_.parent_path().string();
  EXPECT_EQ(code_of([&] { InputFile file(folder); }, folder), ErrorCode::kIo);
}

// One system call moves less than 2 GiB: the largest tensor of the release has 2.35 GB.
TEST_F(InputFileTest, ReadsMoreThanOneCallCanMove) {
  constexpr size_t kBytes = size_t{9} << 28, kPart = size_t{1} << 24;
  // One part of real memory, seen again and again, so that the test needs little of it; the last
  // part is memory of its own.
  void* const mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::span<std::byte> bytes(static_cast<std::byte*>(mapped), kBytes);
  fs::resize_file(path_, kPart);
  const int part = ::open(path_.c_str(), O_RDWR);
  for (size_t at = 0; at < kBytes - kPart; at += kPart) {
    ASSERT_NE(
        ::mmap(bytes.data() + at, kPart, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, part, 0),
        MAP_FAILED);
  }
  ::close(part);
  std::memset(bytes.data() + kBytes - kPart, 'x', kPart);

  const InputFile zeros("/dev/zero");  // As long as anybody asks for.
  zeros.read(0, bytes);
  EXPECT_TRUE(std::all_of(bytes.end() - kPart, bytes.end(),
                          [](std::byte byte) { return byte == std::byte{0}; }));
  ::munmap(mapped, kBytes);
}

}  // namespace
}  // namespace sluice::io
