// Without these tests a file of sums could be taken for one that checks nothing.
#include "format/sha256_sums.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::format {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

const std::string kOne(64, 'a'), kTwo = std::string(63, '0') + 'F';

TEST(Sha256Sums, LinesOfSha256sum) {
  const std::string text = kOne + "  model-1.safetensors\n\n" + kTwo +
                           " *some/folder/model 2.safetensors\r\n" + kOne +
                           "  other/model-1.safetensors";
  EXPECT_THAT(parse_sha256_sums(text, "sums"),
              UnorderedElementsAre(Pair("model-1.safetensors", kOne),
                                   Pair("model 2.safetensors", std::string(63, '0') + 'f')));
  EXPECT_TRUE(parse_sha256_sums("", "sums").empty());
}

TEST(Sha256Sums, AnythingElseIsRefusedWithItsLine) {
  const struct {
    std::string text, says;
  } kCases[] = {
      {"x", "line 1"},
      {kOne, "line 1"},
      {kOne + "  ", "line 1"},
      {kOne + "  folder/", "line 1"},
      {kOne + " name", "line 1"},
      {kOne + "\t name", "line 1"},
      {kOne + "  a\n" + kOne.substr(1) + "g  b\n", "line 2"},
      {kOne.substr(1) + "  a", "line 1"},
      {kOne + "  a\n" + kTwo + "  a\n", "line 2 gives another sum for a"},
  };
  for (const auto& [text, says] : kCases) {
    try {
      (void)parse_sha256_sums(text, "the sums");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      EXPECT_THAT(error.what(), HasSubstr("the sums: " + says));
    }
  }
}

}  // namespace
}  // namespace sluice::format
