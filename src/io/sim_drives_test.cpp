// Without this test a simulation could prove nothing: faults that never strike, limits that do not
// bind, bytes of the wrong place, or a seed that does not repeat its history.
#include "io/sim_drives.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sluice::io {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr uint64_t kFileBytes = 64 * kBlockBytes + 1000;

/// A file whose bytes say where they are, and memory to read it into.
class Data {
 public:
  Data() : content_(kFileBytes), memory_(2 * kFileBytes) {
    for (size_t i = 0; i < content_.size(); ++i) {
      content_[i] = static_cast<std::byte>(i % 251 + i / kBlockBytes);
    }
  }
  [[nodiscard]] std::span<const std::byte> content() const { return content_; }
  [[nodiscard]] std::span<std::byte> memory(uint64_t bytes, uint64_t offset = 0) {
    void* at = memory_.data();
    size_t room = memory_.size();
    std::align(kBlockBytes, bytes + offset, at, room);
    return {static_cast<std::byte*>(at) + offset, bytes};
  }

 private:
  std::vector<std::byte> content_, memory_;
};

/// Several drives of one file each, on a device each.
struct World {
  explicit World(std::vector<SimDevice> devices, uint64_t seed = 1)
      : drives(files(devices.size()), {.seed = seed, .devices = devices}) {}

  std::vector<SimFile> files(size_t count) {
    std::vector<SimFile> result;
    for (size_t d = 0; d < count; ++d) {
      result.push_back(
          {.path = fmt::format("drive-{}", d), .content = data.content(), .device = d});
    }
    return result;
  }

  /// Starts reads of `blocks` blocks each, one after the other in the file, for each drive.
  void submit(uint64_t reads, uint64_t blocks) {
    std::vector<Read> list;
    for (uint64_t i = 0; i < reads; ++i) {
      for (uint16_t d = 0; d < drives.file_count(); ++d) {
        const uint64_t offset = i * blocks % 64 * kBlockBytes;
        list.push_back({{next_id++}, {d}, offset, data.memory(blocks * kBlockBytes, offset)});
      }
    }
    drives.submit(list);
  }
  /// Collects all that is under way; the time that it took.
  Nanos drain() {
    const Nanos before = drives.now();
    std::array<Completion, 7> done;
    while (drives.bytes_in_flight() > 0) (void)drives.wait(done, std::chrono::hours(1));
    while (drives.wait(done, Nanos(0)) > 0) {
    }
    return drives.now() - before;
  }
  Nanos run(uint64_t reads, uint64_t blocks) {
    submit(reads, blocks);
    return drain();
  }
  Completion read_one(uint64_t offset, std::span<std::byte> into) {
    drives.submit(std::array{Read{{next_id++}, {0}, offset, into}});
    std::array<Completion, 1> done;
    EXPECT_EQ(drives.wait(done, std::chrono::hours(1)), 1u);
    return done[0];
  }
  [[nodiscard]] bool right(uint64_t offset, std::span<const std::byte> bytes) const {
    return std::ranges::equal(bytes, data.content().subspan(offset, bytes.size()));
  }

  Data data;
  SimDrives drives;
  uint64_t next_id = 0;
};

/// Without latency: only the rate counts.
SimDevice pipe(double blocks_per_ms) {
  return {.bytes_per_second = blocks_per_ms * 1000 * kBlockBytes,
          .latency = Nanos(0),
          .latency_spread = Nanos(0)};
}
/// Without transfers: only the latency counts.
SimDevice seek(Nanos latency, uint32_t queue) {
  return {.bytes_per_second = 1e18, .latency = latency, .latency_spread = Nanos(0), .queue = queue};
}

SimDevice wild() {
  return {.rate_jitter = 0.5,
          .latency_spread = microseconds(100),
          .tail_chance = 0.05,
          .queue = 4,
          .throttle_after_bytes = 100 * kBlockBytes,
          .stall_chance = 0.01,
          .error_chance = 0.05,
          .short_chance = 0.05,
          .flip_chance = 0.05,
          .misdirect_chance = 0.05};
}

TEST(SimDrives, ASeedRepeatsItsHistory) {
  std::set<uint64_t> digests;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    World first({wild(), wild(), pipe(3)}, seed), again({wild(), wild(), pipe(3)}, seed);
    for (World* world : {&first, &again}) {
      world->drives.add_outage({.device = 1, .from = milliseconds(3), .until = milliseconds(4)});
      world->run(300, 2);
    }
    EXPECT_EQ(first.drives.history_digest(), again.drives.history_digest()) << "seed " << seed;
    digests.insert(first.drives.history_digest());
    std::set<SimOutcome> outcomes;
    for (const SimRead& read : first.drives.history()) outcomes.insert(read.outcome);
    EXPECT_EQ(outcomes.size(), 6u) << "not every fault struck with seed " << seed;
    EXPECT_FALSE(outcomes.contains(SimOutcome::kInFlight));
  }
  EXPECT_EQ(digests.size(), 5u);
}

TEST(SimDrives, ReadsFilesAndMemoryToTheLastByte) {
  Data data;
  const std::string path =
      (std::filesystem::path(SLUICE_BINARY_DIR) / fmt::format("sim-test-{}", ::getpid())).string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data.content().data()), kFileBytes);
  SimDrives drives({{.path = path}, {.path = "memory", .content = data.content()}}, {});
  EXPECT_EQ(drives.path({0}), path);
  for (uint16_t d = 0; d < 2; ++d) {
    const std::span<std::byte> into = data.memory(round_up(kFileBytes, kBlockBytes));
    std::ranges::fill(into, std::byte{0x11});
    drives.submit(std::array{Read{{7}, {d}, 0, into}});
    EXPECT_NE(into[5], std::byte{0x11}) << "memory is not spoiled while a read is under way";
    std::array<Completion, 2> done;
    ASSERT_EQ(drives.wait(done, std::chrono::hours(1)), 1u);
    EXPECT_EQ(done[0].id.value, 7u);
    EXPECT_EQ(done[0].status, ReadStatus::kOk);
    EXPECT_TRUE(std::ranges::equal(into.first(kFileBytes), data.content()));
    EXPECT_EQ(into[kFileBytes], std::byte{0x11});  // Past the end nothing changes.
  }
  std::filesystem::remove(path);
}

TEST(SimDrives, ServiceTakesTheTimeThatItsModelSays) {
  struct Case {
    const char* what;
    std::vector<SimDevice> devices;
    uint64_t reads, blocks;
    Nanos least, most;
  };
  SimDevice throttled = pipe(1), jittery = pipe(1), stalls = pipe(1), tails = seek(Nanos(1000), 1);
  throttled.throttle_after_bytes = 32 * kBlockBytes;
  throttled.throttled_share = 0.5;
  jittery.rate_jitter = 0.5;
  stalls.stall_chance = 1;
  stalls.stall = milliseconds(9);
  tails.tail_chance = 0.5;
  tails.tail_factor = 1000;
  const Nanos us = microseconds(1), ms = milliseconds(1);
  const Case cases[] = {
      {"the rate", {pipe(1)}, 64, 1, 64 * ms, 64 * ms},
      {"twice the rate", {pipe(2)}, 64, 1, 32 * ms, 32 * ms},
      {"two devices at once", {pipe(1), pipe(1)}, 32, 1, 32 * ms, 32 * ms},
      {"the slower of two", {pipe(1), pipe(0.5)}, 32, 1, 64 * ms, 64 * ms},
      {"half the rate after half the bytes", {throttled}, 64, 1, 96 * ms, 96 * ms},
      {"jitter", {jittery}, 64, 1, 66 * ms, 94 * ms},
      {"a stall before each", {stalls}, 64, 1, 640 * ms, 640 * ms},
      {"one after the other", {seek(100 * us, 1)}, 64, 1, 6400 * us, 6401 * us},
      {"eight at once", {seek(100 * us, 8)}, 64, 1, 800 * us, 801 * us},
      {"long ones among short ones", {tails}, 64, 1, 10 * ms, 54 * ms},
  };
  for (const Case& c : cases) {
    World world(c.devices);
    const Nanos time = world.run(c.reads, c.blocks);
    // A nanosecond a read is lost to rounding.
    EXPECT_GE(time + Nanos(64), c.least) << c.what;
    EXPECT_LE(time, c.most) << c.what;
  }
}

TEST(SimDrives, ReadsOvertakeEachOther) {
  World world({{.latency = Nanos(0), .latency_spread = milliseconds(1)}});
  world.submit(32, 1);
  std::vector<uint64_t> order;
  std::array<Completion, 1> done;
  while (world.drives.wait(done, std::chrono::hours(1)) == 1) order.push_back(done[0].id.value);
  EXPECT_EQ(order.size(), 32u);
  EXPECT_FALSE(std::ranges::is_sorted(order));
}

TEST(SimDrives, FaultsStrikeAsOftenAsTheyShall) {
  struct Case {
    SimOutcome outcome;
    ReadStatus status;
    int error;
  };
  const Case cases[] = {
      {SimOutcome::kError, ReadStatus::kIoError, EIO},
      {SimOutcome::kShort, ReadStatus::kShort, 0},
      {SimOutcome::kFlipped, ReadStatus::kOk, 0},
      {SimOutcome::kMisdirected, ReadStatus::kOk, 0},
  };
  for (const Case& c : cases) {
    for (const uint32_t times : {1u, 2u, SimFault::kForGood}) {
      World world({SimDevice{}});
      world.drives.add_fault(
          {.file = {0}, .offset = 6 * kBlockBytes - 1, .outcome = c.outcome, .times = times});
      const std::span<std::byte> into = world.data.memory(2 * kBlockBytes);
      for (uint32_t attempt = 0; attempt < 4; ++attempt) {
        const Completion done = world.read_one(4 * kBlockBytes, into);
        const bool strikes = attempt < times;
        EXPECT_EQ(done.status, strikes ? c.status : ReadStatus::kOk);
        EXPECT_EQ(done.error, strikes ? c.error : 0);
        EXPECT_NE(world.right(4 * kBlockBytes, into), strikes);
        EXPECT_EQ(world.drives.history().back().outcome, strikes ? c.outcome : SimOutcome::kOk);
      }
      EXPECT_EQ(world.read_one(6 * kBlockBytes, into).status, ReadStatus::kOk);
      EXPECT_TRUE(world.right(6 * kBlockBytes, into)) << "a neighbour was struck";
      world.drives.repair();
      EXPECT_EQ(world.read_one(4 * kBlockBytes, into).status, ReadStatus::kOk);
      EXPECT_TRUE(world.right(4 * kBlockBytes, into));
    }
  }
}

TEST(SimDrives, AFlipIsOfOneBitAndAMisdirectedReadOfAnotherPlace) {
  World world({SimDevice{}});
  const std::span<std::byte> into = world.data.memory(kBlockBytes);
  world.drives.add_fault({.file = {0}, .outcome = SimOutcome::kFlipped});
  (void)world.read_one(0, into);
  int bits = 0;
  for (size_t i = 0; i < into.size(); ++i) {
    bits += std::popcount(static_cast<uint8_t>(into[i] ^ world.data.content()[i]));
  }
  EXPECT_EQ(bits, 1);
  world.drives.add_fault({.file = {0}, .outcome = SimOutcome::kMisdirected});
  (void)world.read_one(0, into);
  bool found = false;
  for (uint64_t at = kBlockBytes; at + kBlockBytes <= kFileBytes; at += kBlockBytes) {
    found |= world.right(at, into);
  }
  EXPECT_TRUE(found);
}

TEST(SimDrives, ChanceSpoilsAPlaceSoManyTimes) {
  for (const uint32_t most : {1u, 3u}) {
    World world({{.error_chance = 1, .faults_per_place = most}});
    const std::span<std::byte> into = world.data.memory(kBlockBytes);
    for (const uint64_t offset : {uint64_t{0}, kBlockBytes}) {
      for (uint32_t attempt = 0; attempt < 5; ++attempt) {
        EXPECT_EQ(world.read_one(offset, into).status,
                  attempt < most ? ReadStatus::kIoError : ReadStatus::kOk);
      }
    }
    world.drives.repair();
    EXPECT_EQ(world.read_one(2 * kBlockBytes, into).status, ReadStatus::kOk);
  }
}

TEST(SimDrives, ADeviceDiesAndReturns) {
  World world({pipe(1), pipe(1)});
  world.drives.add_outage({.device = 0, .from = milliseconds(10), .until = milliseconds(100)});
  world.submit(40, 1);  // 40 ms of reads for each.
  world.drain();
  size_t before = 0;
  for (const SimRead& read : world.drives.history()) {
    const bool lost = read.file == FileId{0} && read.done >= milliseconds(10);
    EXPECT_EQ(read.outcome, lost ? SimOutcome::kDead : SimOutcome::kOk);
    EXPECT_LE(read.done, lost ? milliseconds(10) : milliseconds(40)) << "it does not fail at once";
    before += read.file == FileId{0} && !lost;
  }
  EXPECT_GE(before, 9u);
  EXPECT_LE(before, 10u);
  const std::span<std::byte> into = world.data.memory(kBlockBytes);
  const Completion gone = world.read_one(0, into);
  EXPECT_EQ(gone.status, ReadStatus::kIoError);
  EXPECT_EQ(gone.error, ENODEV);
  EXPECT_LT(world.drives.now(), milliseconds(42)) << "a read of a dead device fails soon";
  world.drives.advance(milliseconds(60));
  EXPECT_EQ(world.read_one(0, into).status, ReadStatus::kOk);
  world.drives.add_outage({.device = 0});
  EXPECT_EQ(world.read_one(0, into).status, ReadStatus::kIoError);
  world.drives.repair();
  EXPECT_EQ(world.read_one(0, into).status, ReadStatus::kOk);
}

TEST(SimDrives, TimePassesOnlyInItsCalls) {
  World world({seek(milliseconds(5), 8)});
  std::array<Completion, 4> done;
  EXPECT_EQ(world.drives.wait(done, milliseconds(3)), 0u);
  EXPECT_EQ(world.drives.now(), milliseconds(3));
  world.submit(3, 1);
  EXPECT_EQ(world.drives.wait(done, milliseconds(1)), 0u);
  EXPECT_EQ(world.drives.now(), milliseconds(4));
  world.drives.wake();
  EXPECT_EQ(world.drives.wait(done, std::chrono::hours(1)), 0u);
  EXPECT_EQ(world.drives.now(), milliseconds(4));
  world.drives.advance(milliseconds(6));  // As a caller computes, what ends is collected later.
  EXPECT_EQ(world.drives.now(), milliseconds(10));
  EXPECT_EQ(world.drives.bytes_in_flight(), 0u);
  EXPECT_EQ(world.drives.bytes_in_flight_max(), 3 * kBlockBytes);
  EXPECT_EQ(world.drives.wait(std::span(done).first(2), std::chrono::hours(1)), 2u);
  EXPECT_EQ(world.drives.wait(done, std::chrono::hours(1)), 1u);
  EXPECT_EQ(world.drives.now(), milliseconds(10));
}

TEST(SimDrives, CompletionsCanBeCollectedTogether) {
  Data data;
  SimDrives drives({{.path = "drive", .content = data.content()}},
                   {.devices = {pipe(1)}, .collect_delay_max = milliseconds(20)});
  std::vector<Read> reads;
  for (uint64_t i = 0; i < 64; ++i) {
    reads.push_back({{i}, {0}, i * kBlockBytes, data.memory(kBlockBytes, i * kBlockBytes)});
  }
  drives.submit(reads);
  std::set<size_t> counts;
  std::array<Completion, 64> done;
  for (size_t seen = 0; seen < reads.size();) {
    const size_t count = drives.wait(done, std::chrono::hours(1));
    counts.insert(count);
    seen += count;
  }
  EXPECT_GT(counts.size(), 2u);
}

TEST(SimDrives, AnIdleThreadSleepsUntilItIsWoken) {
  Data data;
  SimDrives drives({{.path = "drive", .content = data.content()}}, {.idle_waits_for_wake = true});
  std::thread sleeper([&] {
    std::array<Completion, 1> done;
    EXPECT_EQ(drives.wait(done, std::chrono::hours(1)), 0u);
  });
  drives.wake();
  sleeper.join();
  EXPECT_EQ(drives.now(), Nanos(0));
}

// With the times of files that have content, and no history where none is wanted.
TEST(SimDrives, HollowFilesTakeTimeAndLeaveMemoryAlone) {
  World full({pipe(1)});
  const Nanos expected = full.run(8, 2);
  SimDrives hollow({{.path = "hollow", .device = 0, .hollow_bytes = kFileBytes}},
                   {.devices = {pipe(1)}, .keep_history = false});
  Data data;
  const std::span<std::byte> memory = data.memory(2 * kBlockBytes);
  std::ranges::fill(memory, std::byte{7});
  for (uint64_t i = 0; i < 8; ++i) {
    hollow.submit(std::array{Read{{i}, {0}, i * 2 * kBlockBytes, memory}});
  }
  std::array<Completion, 8> done;
  size_t count = 0;
  while (count < 8) {
    count += hollow.wait(std::span(done).subspan(count), std::chrono::hours(1));
  }
  EXPECT_EQ(hollow.now(), expected);
  EXPECT_TRUE(hollow.hollow() && !full.drives.hollow());
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte b) { return b == std::byte{7}; }));
  EXPECT_TRUE(hollow.history().empty());
}

}  // namespace
}  // namespace sluice::io
