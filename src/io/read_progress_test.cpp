// How a read goes on after a call that moved less than it should is decided here, for pread and
// io_uring alike: a step in the wrong direction would leave a hole in a weight.
#include "io/read_progress.h"

#include "io/test_files.h"

#include <cerrno>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

constexpr int64_t kBlock = kBlockBytes;
constexpr uint64_t kFileBytes = 2 * kBlockBytes + 100;

/// What the n-th call is and what comes of it.
struct Step {
  uint64_t offset, bytes;
  int64_t result;
};

struct Case {
  const char* name;
  bool direct;
  uint64_t offset, bytes;
  std::vector<Step> steps;
  ReadStatus status;
  int error = 0;
  bool direct_after = true;
};

class ReadProgressTest : public testing::TestWithParam<Case> {};

TEST_P(ReadProgressTest, Goes) {
  const Case& c = GetParam();
  const TestFolder folder;
  InputFile file(folder.write("file", kFileBytes, 1),
                 c.direct ? InputFile::Access::kDirect : InputFile::Access::kCached);
  if (c.direct && !file.direct()) GTEST_SKIP() << "no direct reads in the build folder";
  const BlockBuffer buffer(c.bytes);
  ReadProgress progress({{5}, {0}, c.offset, buffer.all()}, file);
  for (const Step& step : c.steps) {
    const std::optional<ReadProgress::Call> call = progress.next();
    ASSERT_TRUE(call.has_value());
    EXPECT_EQ(call->offset, step.offset);
    EXPECT_EQ(call->into.size(), step.bytes);
    EXPECT_EQ(call->into.data(), buffer.all().data() + (step.offset - c.offset));
    progress.advance(step.result);
  }
  EXPECT_FALSE(progress.next().has_value());
  EXPECT_EQ(progress.completion().id.value, 5u);
  EXPECT_EQ(progress.completion().status, c.status);
  EXPECT_EQ(progress.completion().error, c.error);
  EXPECT_EQ(file.direct(), c.direct && c.direct_after);
}

const Case kCases[] = {
    {"AtOnce", true, 0, 3 * kBlock, {{0, 3 * kBlock, kFileBytes}}, ReadStatus::kOk},
    {"InTheMiddle", true, kBlock, kBlock, {{kBlock, kBlock, kBlock}}, ReadStatus::kOk},
    {"BufferedEndsWithTheFile",
     false,
     kBlock,
     2 * kBlock,
     {{kBlock, kBlock + 100, kBlock + 100}},
     ReadStatus::kOk},
    {"InParts",
     true,
     0,
     3 * kBlock,
     {{0, 3 * kBlock, kBlock}, {kBlock, 2 * kBlock, kBlock}, {2 * kBlock, kBlock, 100}},
     ReadStatus::kOk},
    {"PartOfABlockIsReadAgain",
     true,
     0,
     2 * kBlock,
     {{0, 2 * kBlock, kBlock + 512}, {kBlock, kBlock, kBlock}},
     ReadStatus::kOk},
    {"PartsTooSmallForDirect",
     true,
     0,
     2 * kBlock,
     {{0, 2 * kBlock, 512}, {0, 2 * kBlock, 512}, {512, 2 * kBlock - 512, 2 * kBlock - 512}},
     ReadStatus::kOk,
     0,
     false},
    {"BufferedParts",
     false,
     0,
     2 * kBlock,
     {{0, 2 * kBlock, 3}, {3, 2 * kBlock - 3, 2 * kBlock - 3}},
     ReadStatus::kOk},
    {"DirectIsRefused",
     true,
     0,
     kBlock,
     {{0, kBlock, -EINVAL}, {0, kBlock, kBlock}},
     ReadStatus::kOk,
     0,
     false},
    {"BufferedIsRefused", false, 0, kBlock, {{0, kBlock, -EINVAL}}, ReadStatus::kIoError, EINVAL},
    {"Interrupted", true, 0, kBlock, {{0, kBlock, -EINTR}, {0, kBlock, kBlock}}, ReadStatus::kOk},
    {"Fails",
     true,
     0,
     2 * kBlock,
     {{0, 2 * kBlock, kBlock}, {kBlock, kBlock, -EIO}},
     ReadStatus::kIoError,
     EIO},
    {"WasCut",
     true,
     0,
     2 * kBlock,
     {{0, 2 * kBlock, kBlock}, {kBlock, kBlock, 0}},
     ReadStatus::kShort},
    {"BeyondTheEnd", true, 0, 4 * kBlock, {}, ReadStatus::kShort},
    {"WhollyBeyondTheEnd", true, 8 * kBlock, kBlock, {}, ReadStatus::kShort},
};

INSTANTIATE_TEST_SUITE_P(Cases, ReadProgressTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sluice::io
