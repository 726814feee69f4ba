// Without these tests a mistyped volume could be packed somewhere else, or without its limit.
#include "cli/pack_targets.h"

#include "base/error.h"
#include "base/test_refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using testing::HasSubstr;

TEST(PackTargets, NameFolderAndLimit) {
  const struct {
    std::string value, label, folder;
    uint64_t limit;
  } kCases[] = {
      {"fast=/mnt/a", "fast", "/mnt/a", UINT64_MAX},
      {"fast=/mnt/a:500GB", "fast", "/mnt/a", 500000000000},
      {"x=rel/dir:4096", "x", "rel/dir", 4096},
      {"x=/a=b:1KiB", "x", "/a=b", 1024},
      {"x=/mnt/a:b", "x", "/mnt/a:b", UINT64_MAX},
      {"x=/mnt/a:b:2B", "x", "/mnt/a:b", 2},
      {"x=/mnt/a:", "x", "/mnt/a:", UINT64_MAX},
  };
  for (const auto& c : kCases) {
    const std::vector<model::PackTarget> targets = parse_targets({c.value}, {});
    ASSERT_EQ(targets.size(), 1u);
    EXPECT_EQ(targets[0].label, c.label);
    EXPECT_EQ(targets[0].folder, c.folder);
    EXPECT_EQ(targets[0].limit_bytes, c.limit);
    EXPECT_FALSE(targets[0].rate);
  }
}

TEST(PackTargets, RatesGoToTheirVolumes) {
  const auto targets = parse_targets({"a=/x", "b=/y"}, {"b=3500", "a=0.5"});
  EXPECT_EQ(targets[0].rate, 5e5);
  EXPECT_EQ(targets[1].rate, 3.5e9);
}

TEST(PackTargets, RoomsAreSizes) {
  EXPECT_EQ(parse_rooms({"a=2KiB", "b=5GB"}),
            (std::map<std::string, uint64_t>{{"a", 2048}, {"b", 5'000'000'000}}));
  for (const char* value : {"a", "=5", "a=", "a=many"}) {
    EXPECT_THAT(refusal([&] { (void)parse_rooms({value}); }), HasSubstr(value));
  }
}

TEST(PackTargets, MistakesAreNamed) {
  const struct {
    std::vector<std::string> to, rates;
    std::string says;
  } kCases[] = {
      {{"/mnt/a"}, {}, "--to NAME=DIR"},
      {{"=/mnt/a"}, {}, "\"=/mnt/a\""},
      {{"a="}, {}, "\"a=\""},
      {{"a=/x:5parsecs"}, {}, "--to a=/x:5parsecs"},
      {{"a=/x"}, {"b=5"}, "no --to names"},
      {{"a=/x"}, {"5"}, "--rate NAME=MB/s"},
      {{"a=/x"}, {"a=fast"}, "\"fast\""},
      {{"a=/x"}, {"a=-1"}, "from 0"},
      {{"a=/x"}, {"a=5MB"}, "\"5MB\" is not"},
  };
  for (const auto& c : kCases) {
    try {
      (void)parse_targets(c.to, c.rates);
      ADD_FAILURE() << c.says;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
      EXPECT_THAT(error.what(), HasSubstr(c.says));
    }
  }
}

}  // namespace
}  // namespace sluice::cli
