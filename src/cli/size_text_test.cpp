// Without these tests "20GB" and "20GiB" could mean the same, or a typing error a tiny budget.
#include "cli/size_text.h"

#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

TEST(SizeText, ReadsEveryUnit) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0", 0},
      {"4096", 4096},
      {"512B", 512},
      {"1KB", 1000},
      {"1KiB", 1024},
      {"512MiB", 512ull << 20},
      {"20GB", 20'000'000'000},
      {"6GiB", 6ull << 30},
      {"6gib", 6ull << 30},
      {"6 GiB", 6ull << 30},
      {"1.5GiB", 3ull << 29},
      {"2TB", 2'000'000'000'000},
      {"1TiB", 1ull << 40},
      {"0.1KB", 100},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes(text, "--memory"), bytes) << text;
}

TEST(SizeText, RefusesWhatIsNoSizeAndNamesTheOption) {
  for (const char* text :
       {"", "GiB", "6G", "6 Gib s", "-1", "-1GiB", "nan", "inf", "1e30", "6,5GiB", "99999999TiB"}) {
    try {
      (void)parse_bytes(text, "--memory");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
      EXPECT_THAT(error.what(), ::testing::StartsWith("--memory: "));
    }
  }
}

}  // namespace
}  // namespace sluice::cli
