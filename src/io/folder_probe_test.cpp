// Without these tests a full or read-only disk could be found out after hours, and probing could
// leave files behind.
#include "io/folder_probe.h"

#include "base/error.h"
#include "io/test_files.h"

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

TEST(FolderProbe, TellsDeviceAndRoom) {
  const TestFolder a, b;
  const FolderFacts facts = probe_folder(a.path());
  EXPECT_EQ(facts.device, probe_folder(b.path()).device);
  EXPECT_EQ(facts.free_bytes > 0, std::filesystem::space(a.path()).available > 0);
}

TEST(FolderProbe, MeasuresAndLeavesNothing) {
  const TestFolder folder;
  EXPECT_GT(measure_read_rate(folder.path()), 0.0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FolderProbe, NamesTheFolder) {
  const TestFolder folder;
  const std::string file = folder.write("file", 10, 1);
  for (const std::string& path : {file, (folder.path() / "none").string()}) {
    try {
      (void)measure_read_rate(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotFound);
      EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
    }
  }
}

}  // namespace
}  // namespace sluice::io
