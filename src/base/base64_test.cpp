// Without this test the page would show the wrong experts as being in memory, and tests would make
// vocabularies that nothing reads.
#include "base/base64.h"

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Base64, EncodesWhatTheStandardDoes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"\xFB\xEF\xFF", "++//"},
      {std::string_view("\0\x80", 2), "AIA="},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(encode_base64(bytes), text);
}

}  // namespace
}  // namespace sluice
