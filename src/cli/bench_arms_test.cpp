// Without these tests an arm could run with other options than those that it is reported with.
#include "cli/bench_arms.h"

#include "base/error.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelSettings common() {
  ModelSettings settings;
  settings.folder = "model";
  settings.volumes = {"a"};
  settings.threads = 3;
  settings.hints = "off";
  return settings;
}

TEST(BenchArms, WithoutAnyThereIsOne) {
  const std::vector<BenchArm> arms = parse_arms({}, common());
  ASSERT_EQ(arms.size(), 1u);
  EXPECT_EQ(arms[0].name, "default");
  EXPECT_EQ(arms[0].settings.threads, 3u);
}

TEST(BenchArms, FlagsApplyOverWhatAllHave) {
  const std::vector<std::string> values = {
      "base=", "fast=--threads 2 --io uring  --memory=6GiB --hints on",
      "else='other model' --volume \"b c\" --target=scalar"};
  const std::vector<BenchArm> arms = parse_arms(values, common());
  ASSERT_EQ(arms.size(), 3u);
  EXPECT_EQ(arms[0].name, "base");
  EXPECT_EQ(arms[0].settings.folder, "model");
  EXPECT_EQ(arms[0].settings.threads, 3u);
  EXPECT_EQ(arms[0].settings.hints, "off");

  EXPECT_EQ(arms[1].flags, "--threads 2 --io uring  --memory=6GiB --hints on");
  EXPECT_EQ(arms[1].settings.threads, 2u);
  EXPECT_EQ(arms[1].settings.io, "uring");
  EXPECT_EQ(arms[1].settings.memory_bytes, uint64_t{6} << 30);
  EXPECT_EQ(arms[1].settings.hints, "on");

  EXPECT_EQ(arms[2].settings.folder, "other model");
  EXPECT_THAT(arms[2].settings.volumes, ElementsAre("a", "b c"));
  EXPECT_EQ(arms[2].settings.target, "scalar");
  EXPECT_EQ(arms[2].settings.threads, 3u);
}

TEST(BenchArms, RefusalsNameTheArm) {
  struct Case {
    std::vector<std::string> values;
    std::vector<std::string> says;
  };
  for (const Case& c : {
           Case{{"fast=--thread 2"}, {"arm \"fast\"", "--thread", "did you mean --threads"}},
           Case{{"fast=--threads 0"}, {"arm \"fast\"", "--threads", "out of range"}},
           Case{{"fast=--threads"}, {"arm \"fast\"", "--threads needs a value"}},
           Case{{"fast=\"--threads 2"}, {"arm \"fast\"", "\" is not closed"}},
           Case{{"fast=--backend reference --target avx2"}, {"arm \"fast\"", "--target"}},
           Case{{"fast=--context 9"}, {"arm \"fast\"", "--context", "beside --arm"}},
           Case{{"fast=--max-new 9"}, {"arm \"fast\"", "--max-new"}},
           Case{{"fast=a b"}, {"arm \"fast\"", "\"b\""}},
           Case{{"a=", "b=", "a=--threads 2"}, {"two with the name \"a\""}},
           Case{{"fast"}, {"\"fast\" is not NAME=FLAGS"}},
           Case{{"=--threads 2"}, {"is not NAME=FLAGS"}},
           Case{{"--threads=2"}, {"is not NAME=FLAGS"}},
       }) {
    try {
      (void)parse_arms(c.values, common());
      ADD_FAILURE() << c.values.back();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
      for (const std::string& says : c.says) EXPECT_THAT(error.what(), HasSubstr(says));
    }
  }
}

}  // namespace
}  // namespace sluice::cli
