// Without this test several drives could read no faster than one, or wait for the slowest, unseen.
#include "base/error.h"
#include "format/piece_decoder.h"
#include "io/sim_drives.h"
#include "stream/weight_streamer.h"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

constexpr uint64_t kPiece = 16u << 10;
constexpr uint64_t kPieces = 17, kExperts = 256, kPerLayer = 16;
constexpr double kRate = 25e6;  // Bytes per second: a piece takes as long as 1 MiB at 1.6 GB/s.

std::byte expected(uint32_t expert, uint64_t offset) {
  return static_cast<std::byte>((offset / 8 + expert * 977u) * 0x9E3779B97F4A7C15u >> 56);
}

/// Experts that lie on drives of any speed, in stripes by speed or with copies everywhere.
struct Layout {
  std::vector<double> speeds;  ///< Of each drive, in units of kRate.
  bool copies = false;         ///< Every drive has everything.
  io::SimDevice last{};        ///< What the last drive is like, its speed aside.
};

class World {
 public:
  explicit World(const Layout& layout) : contents_(layout.speeds.size()) {
    format::PlacementParts parts;
    std::vector<double> given(layout.speeds.size());
    for (uint32_t e = 0; e < kExperts; ++e) {
      parts.segments.push_back({.kind = format::SegmentKind::kExpert,
                                .memory_bytes = kPieces * kPiece,
                                .extents = {{{0}, 0, kPieces * kPiece, 0}}});
      for (uint64_t p = 0; p < kPieces; ++p) {
        std::vector<std::byte> bytes(kPiece);
        for (uint64_t i = 0; i < kPiece; ++i) bytes[i] = expected(e, p * kPiece + i);
        if (layout.copies) {
          for (uint16_t d = 0; d < contents_.size(); ++d) add(parts, e, p, bytes, d);
        } else {
          add(parts, e, p, bytes, least_loaded(given, layout.speeds));
        }
      }
    }
    parts.piece_bytes = kPiece;
    placement_ = std::make_unique<format::Placement>(std::move(parts));
    io::SimOptions options{.devices = {}};
    std::vector<io::SimFile> files;
    for (size_t d = 0; d < contents_.size(); ++d) {
      options.devices.push_back(d + 1 == contents_.size() ? layout.last : io::SimDevice{});
      options.devices.back().bytes_per_second = kRate * layout.speeds[d];
      files.push_back({.path = "pack-" + std::to_string(d), .content = contents_[d], .device = d});
    }
    drives = std::make_unique<io::SimDrives>(files, options);
    streamer = std::make_unique<WeightStreamer>(
        *placement_, *drives,
        StreamerOptions{
            .slots = kPerLayer, .slot_bytes = kPieces * kPiece, .pinned = {}, .own_thread = false});
  }

  /// Reads layer after layer, each when the one before has arrived.
  void read(uint32_t layers, uint32_t& expert) {
    for (uint32_t l = 0; l < layers; ++l) {
      std::vector<SegmentId> ids;
      for (uint64_t i = 0; i < kPerLayer; ++i) ids.push_back({expert++ % uint32_t{kExperts}});
      SegmentBatch batch = streamer->request(ids);
      while (const std::optional<ArrivedSegment> arrived = batch.next()) {
        const std::span<const std::byte> bytes = arrived->bytes.get();
        for (uint64_t i = 0; i < bytes.size(); i += 4001) {
          ASSERT_EQ(bytes[i], expected(arrived->id.value, i));
        }
      }
    }
  }

  /// Bytes per second, once the drives are known.
  double speed() {
    uint32_t expert = 0;
    constexpr uint32_t kLayers = 40;
    read(8, expert);
    const Nanos before = drives->now();
    const uint64_t bytes = streamer->counters().device_bytes_read;
    read(kLayers, expert);
    EXPECT_EQ(streamer->counters().device_bytes_read - bytes,
              kLayers * kPerLayer * kPieces * kPiece)
        << "nothing is read twice";
    return kLayers * kPerLayer * kPieces * kPiece / to_seconds(drives->now() - before);
  }

 private:
  static uint16_t least_loaded(std::vector<double>& given, const std::vector<double>& speeds) {
    uint16_t best = 0;
    for (uint16_t d = 1; d < speeds.size(); ++d) {
      if ((given[d] + 1) / speeds[d] < (given[best] + 1) / speeds[best]) best = d;
    }
    ++given[best];
    return best;
  }
  void add(format::PlacementParts& parts, uint32_t expert, uint64_t piece,
           std::span<const std::byte> bytes, uint16_t drive) {
    std::vector<std::byte>& content = contents_[drive];
    parts.packed.push_back({.segment = {expert},
                            .memory_block = static_cast<uint32_t>(piece * kPiece / io::kBlockBytes),
                            .blocks = kPiece / io::kBlockBytes,
                            .file = {drive},
                            .stored_bytes = kPiece,
                            .offset = content.size(),
                            .checksum = format::piece_checksum(bytes)});
    content.insert(content.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::vector<std::byte>> contents_;
  std::unique_ptr<format::Placement> placement_;

 public:
  std::unique_ptr<io::SimDrives> drives;
  std::unique_ptr<WeightStreamer> streamer;
};

double sum(const std::vector<double>& speeds) {
  double total = 0;
  for (const double speed : speeds) total += speed;
  return total;
}

TEST(Striping, DrivesAddUp) {
  const double one = World({.speeds = {1}}).speed();
  EXPECT_GE(one, 0.95 * kRate);
  for (const bool copies : {false, true}) {
    for (const std::vector<double>& speeds :
         {std::vector<double>{1, 1}, {1, 1, 1, 1}, {1, 0.5, 0.5, 0.4}, {1, 0.1}}) {
      EXPECT_GE(World({speeds, copies}).speed() / (one * sum(speeds)), 0.975)
          << speeds.size() << " drives, the second at " << speeds[1]
          << (copies ? ", copies" : ", stripes");
    }
  }
}

TEST(Striping, ADriveThatSlowsDownIsGivenLess) {
  const io::SimDevice throttled{.throttle_after_bytes = 2u << 20, .throttled_share = 0.3};
  EXPECT_GE(World({{1, 1}, /*copies=*/true, throttled}).speed() / kRate, 0.95 * 1.3);
}

TEST(Striping, NothingWaitsForAReadThatHangs) {
  constexpr Nanos kHang = std::chrono::seconds(20);
  const io::SimDevice hangs{.stall_chance = 0.002, .stall = kHang};
  World world({{1, 1}, /*copies=*/true, hangs});
  uint32_t expert = 0;
  const Nanos before = world.drives->now();
  world.read(100, expert);
  EXPECT_GT(world.streamer->counters().rescues, 0u);
  EXPECT_LT(world.drives->now() - before, kHang);
}

TEST(Striping, AReadThatHangsForEverLosesItsSegmentInTime) {
  World world({{1}, false, {.stall_chance = 1, .stall = std::chrono::hours(1)}});
  uint32_t expert = 0;
  const Nanos before = world.drives->now();
  EXPECT_THROW(world.read(1, expert), Error);
  EXPECT_LT(world.drives->now() - before, std::chrono::minutes(2));
}

}  // namespace
}  // namespace sluice::stream
