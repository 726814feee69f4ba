// Without this test a drive that hangs could keep a program that has another copy from going on.
#include "io/timed_read.h"

#include "base/error.h"
#include "io/test_files.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

using std::chrono::minutes;

TEST(TimedRead, GivesTheBytesOrSaysThatTheyDidNotComeInTime) {
  const std::string path = testing::TempDir() + "timed-read-" + std::to_string(::getpid());
  std::ofstream(path) << "abcdefgh";
  std::vector<std::byte> into(3);
  EXPECT_TRUE(read_within(path, 2, into, minutes(1)));
  EXPECT_EQ(into[0], std::byte{'c'});
  EXPECT_EQ(into[2], std::byte{'e'});
  EXPECT_THROW((void)read_within(path, 7, into, minutes(1)), Error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sluice::io
