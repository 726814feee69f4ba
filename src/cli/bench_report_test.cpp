// Without these tests a benchmark could print the ratio of other turns, or a share of the wrong
// ceiling.
#include "cli/bench_report.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

/// 4 tokens in `elapsed`.
BenchTurn turn(Nanos elapsed) {
  BenchTurn t{.stats = {.tokens = 4, .passes = 4, .elapsed = elapsed},
              .weight_bytes = 8'000'000'000,
              .peak_rss_bytes = 3u << 20,
              .ceilings = {.memory = 16e9, .drives = 2e9}};
  t.stats.reading.streamer = {.expert_hits = 30,
                              .expert_misses = 10,
                              .device_bytes_read = 1'000'000'000,
                              .waiting_ns = 200'000'000};
  t.stats.reading.drives = {{.busy = 250ms}, {.busy = 750ms}};
  return t;
}

BenchReport report(std::vector<BenchTurn> base, std::vector<BenchTurn> other) {
  BenchReport r{.folder = "model",
                .settings = {.contexts = {512}, .tokens = 4},
                .turns = 3,
                .finished = true};
  r.arms = {{.name = "base", .turns = {std::move(base)}},
            {.name = "fast", .flags = "--threads 8", .turns = {std::move(other)}}};
  return r;
}

TEST(BenchReport, FiguresOfATurn) {
  const std::map<std::string_view, double> expected = {
      {"tokens_per_second", 4},        {"seconds", 1},
      {"waiting_ms_per_token", 50},    {"computing_ms_per_token", 200},
      {"bytes_read_per_token", 250e6}, {"hit_share", 0.75},
      {"drives_busy_share", 0.5},      {"weight_bytes_per_second", 8e9},
      {"memory_ceiling_share", 0.5},   {"read_bytes_per_second", 1e9},
      {"drives_ceiling_share", 0.5},   {"peak_rss_bytes", 3 << 20},
  };
  EXPECT_EQ(bench_figures().size(), expected.size());
  for (const BenchFigure& figure : bench_figures()) {
    EXPECT_DOUBLE_EQ(figure.of(turn(1s)), expected.at(figure.name)) << figure.name;
    EXPECT_EQ(figure.of({}), 0.0) << figure.name;
  }
}

TEST(BenchReport, SpeedsAreComparedTurnByTurn) {
  // Twice as fast in every turn, on a machine that gets slower.
  const BenchReport r = report({turn(1s), turn(2s), turn(4s)}, {turn(500ms), turn(1s), turn(2s)});
  EXPECT_EQ(speed_ratio(r.arms[1].turns[0], r.arms[0].turns[0]), (engine::Spread{2, 2, 2}));
  const std::string text = bench_text(r);
  EXPECT_THAT(text, HasSubstr("decode of 4 tokens at a context of 512, warm"));
  EXPECT_THAT(text, HasSubstr("  base     2.000  (1.000 to 4.000)    1.000"));
  EXPECT_THAT(text, HasSubstr("  fast     4.000  (2.000 to 8.000)    2.000  (2.000 to 2.000)"));
  EXPECT_THAT(text, HasSubstr("3.00 MiB"));
  EXPECT_THAT(text, HasSubstr("ceilings: drives 2.00 GB/s (2.00 to 2.00), memory 16.00 GB/s"));
  EXPECT_THAT(text, HasSubstr("All turns of all arms chose the same tokens"));
  EXPECT_THAT(bench_svg(r), HasSubstr("fast, at 512 tokens"));
  EXPECT_THAT(bench_svg(r), Not(HasSubstr("width=\"0\"")));
}

TEST(BenchReport, OneThatWasStopped) {
  BenchReport r = report({turn(1s)}, {});
  r.finished = false;
  r.turns = 1;
  const std::string text = bench_text(r);
  EXPECT_THAT(text, HasSubstr("  base     4.000    1.000"));
  EXPECT_THAT(text, HasSubstr("  fast\n"));
  EXPECT_THAT(text, HasSubstr("Stopped early"));
  EXPECT_THAT(text, Not(HasSubstr("same tokens")));
  EXPECT_THAT(bench_json(r), HasSubstr(R"("speed_ratio":null,"turns":[]})"));
  EXPECT_THAT(bench_svg(r), Not(HasSubstr("fast, at")));
}

}  // namespace
}  // namespace sluice::cli
