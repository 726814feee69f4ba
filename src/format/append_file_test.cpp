// Without these tests an interrupted run could go on behind the wrong byte of its file, or each
// file that is refused could cost a descriptor until none is left.
#include "format/append_file.h"

#include "base/error.h"
#include "format/test_path.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

TEST(AppendFile, GoesOnBehindWhatItKeeps) {
  const TestPath path("-append");
  {
    AppendFile file(path.get());
    file.append("one two");
    EXPECT_EQ(path.bytes(), "one two") << "while it is open";
  }
  {
    AppendFile file(path.get(), 4);
    EXPECT_EQ(path.bytes(), "one ");
    file.append("three");
    EXPECT_EQ(file.sync(), 9u);
  }
  EXPECT_EQ(path.bytes(), "one three");
  AppendFile anew(path.get());
  EXPECT_EQ(path.bytes(), "");
}

TEST(AppendFile, ARefusalNamesTheFileAndLeavesNothingOpen) {
  const TestPath path("-short");
  path.write("abc");
  const struct {
    fs::path path;
    uint64_t keep;
    std::string reason;
  } refusals[] = {
      {path.get(), 4, "has 3 bytes, but the run to continue had written 4"},
      {path.get().parent_path(), 0, "is not a regular file"},
      {path.get().parent_path() / "no-such-folder" / "file", 0, "make its folder first"},
      {"/dev/null", 0, "is not a regular file"},
  };
  const ptrdiff_t before = open_descriptors();
  for (const auto& refused : refusals) {
    EXPECT_THAT(([&] { AppendFile file(refused.path, refused.keep); }),
                testing::ThrowsMessage<Error>(
                    testing::AllOf(HasSubstr(refused.path.string()), HasSubstr(refused.reason))));
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(path.bytes(), "abc");
}

}  // namespace
}  // namespace sluice::format
