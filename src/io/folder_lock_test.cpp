// Without these tests two conversions could write the same packs at once.
#include "io/folder_lock.h"

#include "base/error.h"
#include "io/test_files.h"

#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

TEST(FolderLock, KeepsOthersOutWhileItLives) {
  const TestFolder folder, other;
  std::optional<FolderLock> lock(std::in_place, folder.path());
  const FolderLock unrelated(other.path());
  const FolderLock moved = std::move(*lock);
  lock.reset();
  try {
    const FolderLock second(folder.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
    EXPECT_THAT(error.what(), testing::HasSubstr(folder.path().string() + ": another run"));
  }
}

TEST(FolderLock, EndsWithIt) {
  const TestFolder folder;
  for (int turn = 0; turn < 2; ++turn) const FolderLock lock(folder.path());
  EXPECT_THROW(FolderLock(folder.path() / "none"), Error);
}

}  // namespace
}  // namespace sluice::io
