// Without these tests `sluice drives bench` could report a rate that no drive has, or leave the
// slow reads out of its percentiles.
#include "io/read_bench.h"

#include "base/error.h"
#include "io/sim_drives.h"
#include "io/test_files.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr uint64_t kFileBytes = 64u << 20;

/// Drives without chance, with a file each.
class Drives {
 public:
  explicit Drives(const std::vector<double>& rates, Nanos latency) : memory_(32u << 20) {
    SimOptions options{.devices = {}};
    std::vector<SimFile> files;
    for (const double rate : rates) {
      files.push_back({.path = "d", .device = files.size(), .hollow_bytes = kFileBytes});
      options.devices.push_back(
          {.bytes_per_second = rate, .latency = latency, .latency_spread = {}});
    }
    array_.emplace(std::move(files), std::move(options));
  }
  [[nodiscard]] SimDrives& array() { return *array_; }
  [[nodiscard]] ReadLoad load(uint16_t file, ReadSetting setting) const {
    return {.name = "d",
            .files = {{{file}, kFileBytes}},
            .setting = setting,
            .memory = memory_.part(0, setting.window())};
  }

 private:
  BlockBuffer memory_;
  std::optional<SimDrives> array_;
};

TEST(ReadBench, MeasuresTheRateOfADrive) {
  struct Case {
    ReadSetting setting;
    double bytes_per_second;
  };
  // One at a time, the latency comes on top of the transfer: 1 MiB takes 1.048576 ms.
  for (const Case& c : {Case{{1u << 20, 4}, 1e9}, Case{{1u << 20, 1}, 1e9 / (1 + 1 / 1.048576)},
                        Case{{4u << 20, 2}, 1e9}}) {
    Drives drives({1e9}, milliseconds(1));
    const ReadLoad load = drives.load(0, c.setting);
    const std::vector<ReadTurn> turns =
        measure_reads(drives.array(), {&load, 1}, {.seconds = 0.5, .seed = 3});
    ASSERT_EQ(turns.size(), 1u);
    EXPECT_NEAR(turns[0].bytes_per_second / c.bytes_per_second, 1.0, 0.01) << c.setting.depth;
    const Latency latency = latency_of(turns[0].latencies);
    const double in_flight =
        c.bytes_per_second * to_seconds(latency.p50) / static_cast<double>(c.setting.bytes);
    EXPECT_NEAR(in_flight, c.setting.depth, 0.05 * c.setting.depth);
    EXPECT_EQ(drives.array().bytes_in_flight_max(), c.setting.window());
  }
}

TEST(ReadBench, ReadsAllPlacesOfTheFileAndOnlyThose) {
  Drives drives({1e9}, microseconds(10));
  const ReadLoad load = drives.load(0, {4u << 20, 1});
  (void)measure_reads(drives.array(), {&load, 1}, {.seconds = 1, .seed = 1});
  std::vector<uint64_t> offsets;
  for (const SimRead& read : drives.array().history()) offsets.push_back(read.offset);
  std::ranges::sort(offsets);
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  ASSERT_EQ(offsets.size(), 16u);
  for (size_t i = 0; i < offsets.size(); ++i) EXPECT_EQ(offsets[i], i * (4u << 20));
}

TEST(ReadBench, DrivesAreReadAtTheSameTime) {
  Drives drives({2e9, 5e8}, microseconds(100));
  const std::vector<ReadLoad> loads = {drives.load(0, {1u << 20, 4}),
                                       drives.load(1, {1u << 20, 2})};
  const std::vector<ReadTurn> turns = measure_reads(drives.array(), loads, {.seconds = 0.5});
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_NEAR(turns[0].bytes_per_second, 2e9, 2e7);
  EXPECT_NEAR(turns[1].bytes_per_second, 5e8, 1e7);
  EXPECT_EQ(drives.array().bytes_in_flight_max(), 6u << 20);
}

TEST(ReadBench, ASlowDriveGivesEveryPlaceARead) {
  Drives drives({1e6}, microseconds(100));
  const ReadLoad load = drives.load(0, {1u << 20, 8});
  const std::vector<ReadTurn> turns = measure_reads(drives.array(), {&load, 1}, {.seconds = 0.001});
  EXPECT_GE(turns[0].latencies.size(), 8u);
  EXPECT_NEAR(turns[0].bytes_per_second, 1e6, 1e4);
}

TEST(ReadBench, AFailedReadEndsItAndNamesTheDrive) {
  Drives drives({1e9}, microseconds(100));
  drives.array().add_fault(
      {.file = {0}, .offset = 0, .outcome = SimOutcome::kError, .times = SimFault::kForGood});
  const ReadLoad load = drives.load(0, {4u << 20, 1});
  try {
    (void)measure_reads(drives.array(), {&load, 1}, {.seconds = 10});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), testing::StartsWith("d: "));
  }
}

TEST(ReadBench, PercentilesAreOfReadsThatWere) {
  std::vector<Nanos> durations;
  for (int i = 100; i > 0; --i) durations.emplace_back(i);
  struct Case {
    double share;
    int expected;
  };
  for (const Case& c : {Case{0, 1}, Case{0.01, 1}, Case{0.5, 50}, Case{0.9, 90}, Case{0.99, 99},
                        Case{0.991, 100}, Case{1, 100}}) {
    EXPECT_EQ(percentile(durations, c.share), Nanos(c.expected)) << c.share;
  }
  EXPECT_EQ(percentile({}, 0.5), Nanos(0));
  EXPECT_EQ(percentile({Nanos(7)}, 0.99), Nanos(7));
}

TEST(ReadBench, ACellIsTheMedianOfItsTurns) {
  const ReadCell cell = cell_of(
      {4096, 2}, {{3e9, {Nanos(1), Nanos(2)}}, {1e9, {Nanos(9)}}, {2e9, {Nanos(3), Nanos(4)}}});
  EXPECT_EQ(cell.bytes_per_second, 2e9);
  EXPECT_EQ(cell.reads, 5u);
  EXPECT_EQ(cell.latency.p50, Nanos(3));
  EXPECT_EQ(cell.latency.p99, Nanos(9));
}

TEST(ReadBench, TheCeilingSaysHowMuchMustBeInFlight) {
  struct Case {
    std::vector<ReadCell> cells;
    double ceiling;
    ReadSetting at, enough;
  };
  const auto cell = [](uint64_t bytes, uint32_t depth, double rate) {
    return ReadCell{.setting = {bytes, depth}, .bytes_per_second = rate};
  };
  const Case cases[] = {
      {{cell(100, 1, 5)}, 5, {100, 1}, {100, 1}},
      // 96 is enough of 100, with half of the bytes; 94 is not.
      {{cell(100, 1, 94), cell(100, 2, 96), cell(100, 4, 100)}, 100, {100, 4}, {100, 2}},
      // Of two with the same bytes in flight, the faster one.
      {{cell(400, 1, 100), cell(100, 2, 96), cell(200, 1, 98)}, 100, {400, 1}, {200, 1}},
      {{cell(200, 1, 98), cell(100, 2, 96), cell(400, 1, 100)}, 100, {400, 1}, {200, 1}},
  };
  for (const Case& c : cases) {
    const ReadCeiling ceiling = ceiling_of(c.cells);
    EXPECT_EQ(ceiling.bytes_per_second, c.ceiling);
    EXPECT_EQ(ceiling.at, c.at);
    EXPECT_EQ(ceiling.enough, c.enough);
  }
}

}  // namespace
}  // namespace sluice::io
