// Without these tests the figures that users compare could be off by a factor or divide by zero.
#include "engine/statistics.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

const PhaseStats kDecode = {.tokens = 4,
                            .passes = 4,
                            .elapsed = 2s,
                            .waiting = 500ms,
                            .expert_hits = 30,
                            .expert_misses = 10,
                            .expert_bytes = 3'000'000'000,
                            .spine_bytes = 900'000'000,
                            .device_bytes = 4'000'000'000};

TEST(Statistics, RatesOfAPhase) {
  EXPECT_DOUBLE_EQ(kDecode.tokens_per_second(), 2.0);
  EXPECT_DOUBLE_EQ(kDecode.bytes_per_token(), 1e9);
  EXPECT_DOUBLE_EQ(kDecode.hit_share(), 0.75);
  EXPECT_DOUBLE_EQ(kDecode.waiting_ms_per_token(), 125.0);
  EXPECT_DOUBLE_EQ(kDecode.computing_ms_per_token(), 375.0);
}

TEST(Statistics, AnEmptyPhaseHasZeros) {
  const PhaseStats none;
  EXPECT_EQ(none.tokens_per_second(), 0.0);
  EXPECT_EQ(none.bytes_per_token(), 0.0);
  EXPECT_EQ(none.hit_share(), 0.0);
  EXPECT_EQ(none.waiting_ms_per_token(), 0.0);
  EXPECT_EQ(none.computing_ms_per_token(), 0.0);
}

TEST(Statistics, AddSumsEveryField) {
  PhaseStats sum = kDecode;
  sum.add(kDecode);
  EXPECT_EQ(sum.tokens, 8u);
  EXPECT_EQ(sum.passes, 8u);
  EXPECT_EQ(sum.elapsed, Nanos(4s));
  EXPECT_EQ(sum.waiting, Nanos(1s));
  EXPECT_EQ(sum.expert_hits, 60u);
  EXPECT_EQ(sum.expert_misses, 20u);
  EXPECT_EQ(sum.expert_bytes, 6'000'000'000u);
  EXPECT_EQ(sum.spine_bytes, 1'800'000'000u);
  EXPECT_EQ(sum.device_bytes, 8'000'000'000u);
}

TEST(Statistics, TheFirstLineSpeaksOfDecodeAndElseOfPrefill) {
  EXPECT_THAT(stats_text({.prefill = {}, .decode = kDecode}),
              StartsWith("2.00 tokens/s, 1.000 GB read per token, 75.0 % hits, waiting 125.0 ms, "
                         "computing 375.0 ms a token\n"));
  EXPECT_THAT(stats_text({.prefill = kDecode, .decode = {}}), StartsWith("2.00 tokens/s"));
}

TEST(Statistics, JsonHasBothPhases) {
  const std::string json = stats_json({.prefill = {}, .decode = kDecode, .peak_rss_bytes = 123});
  EXPECT_THAT(json, StartsWith(R"({"prefill":{"tokens":0,)"));
  EXPECT_THAT(json, HasSubstr(R"("decode":{"tokens":4,"passes":4,"seconds":2.000000,)"));
  EXPECT_THAT(json, HasSubstr(R"("peak_rss_bytes":123})"));
}

TEST(Statistics, PeakMemoryGrowsWithWhatIsTouched) {
  const uint64_t before = peak_rss_bytes();
  EXPECT_GT(before, 0u);
  // Twice the peak so far cannot have been resident before.
  const std::vector<char> touched(2 * before, 1);
  EXPECT_GE(peak_rss_bytes(), before + static_cast<uint64_t>(touched[before]));
}

}  // namespace
}  // namespace sluice::engine
