// What people name as a file may be a folder, a device or nothing: without these such a mistake
// would end in an exception that names no file, or never end.
#include "base/read_file.h"

#include <fstream>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ReadFile, WholeContents) {
  const std::filesystem::path path = std::filesystem::path(SLUICE_BINARY_DIR) / "read-file-test";
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1} << 16, (size_t{1} << 16) + 1}) {
    const std::string text(bytes, 'x');
    std::ofstream(path, std::ios::binary) << text;
    const FileText read = read_file(path, bytes);
    EXPECT_EQ(read.trouble, "");
    EXPECT_EQ(read.text, text);
    if (bytes > 0) {
      EXPECT_NE(read_file(path, bytes - 1).trouble, "");
    }
  }
}

TEST(ReadFile, SaysWhyNot) {
  EXPECT_NE(read_file("/nonexistent/file", 10).trouble, "");
  EXPECT_NE(read_file(SLUICE_BINARY_DIR, 10).trouble, "");
  EXPECT_NE(read_file("/dev/zero", 1000).trouble, "");
}

}  // namespace
}  // namespace sluice
