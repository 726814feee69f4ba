// Reading experts from several drives at once, as a share of what the same drives give one by one
// in the same run. Nothing is ever in memory already, and as in a pass, the experts of a layer are
// asked for together and the next layer's when all have come. bench/striping.py emulates drives for
// it.
#include "base/error.h"
#include "benchmark.h"
#include "cli/options.h"
#include "format/pack_plan.h"
#include "format/piece_decoder.h"
#include "format/placement.h"
#include "format/segment.h"
#include "io/drive_array.h"
#include "io/input_file.h"
#include "io/open_drives.h"
#include "stream/weight_streamer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

using sluice::FileId;
using sluice::SegmentId;
using sluice::format::Placement;
using sluice::stream::WeightStreamer;

constexpr uint64_t kExpertBytes = 17'547'264, kPieceBytes = 1u << 20;
constexpr uint32_t kExpertsOfLayer = 16, kSpareSlots = 4;
// More than ever come back while one of them is in a slot. They share the bytes of the file.
constexpr uint32_t kExperts = 1024;

struct Arguments {
  std::vector<std::string> files;
  double seconds = 4;
  uint32_t turns = 3;
  bool json = false;
};

/// What all files hold: experts, one after another, and the checksums of their pieces.
struct Content {
  std::vector<sluice::format::Segment> experts;
  std::vector<std::vector<uint64_t>> checksums;  // By expert of the file, by piece.
};

Content read_content(const std::string& path) {
  const sluice::io::InputFile file(path);
  const uint64_t count = file.bytes() / kExpertBytes;
  if (count == 0) {
    throw sluice::Error(sluice::ErrorCode::kInvalidInput,
                        "{}: is shorter than an expert of {} bytes; name a longer file", path,
                        kExpertBytes);
  }
  Content content;
  content.checksums.resize(count);
  std::vector<std::byte> piece(kPieceBytes);
  for (uint64_t e = 0; e < count; ++e) {
    for (uint64_t at = 0; at < kExpertBytes; at += kPieceBytes) {
      const auto bytes = std::span(piece).first(std::min(kPieceBytes, kExpertBytes - at));
      file.read(e * kExpertBytes + at, bytes);
      content.checksums[e].push_back(sluice::format::piece_checksum(bytes));
    }
  }
  std::vector<uint64_t> place;
  for (uint32_t i = 0; i < kExperts; ++i) {
    content.experts.push_back(
        sluice::format::lay_out_segment(sluice::format::SegmentKind::kExpert,
                                        {{{0}, i % count * kExpertBytes, kExpertBytes}}, place));
  }
  return content;
}

/// Every drive holds everything, as copies of shards do.
Placement copies(const Content& content, size_t drives) {
  std::vector<FileId> files;
  for (uint16_t f = 0; f < drives; ++f) files.push_back({f});
  return Placement({.segments = content.experts,
                    .shard_files = {files},
                    .packed = {},
                    .piece_bytes = kPieceBytes});
}

/// Every piece is on one drive, with its checksum, as `sluice pack` deals them out.
Placement stripe(const Content& content, const std::vector<double>& rates) {
  std::vector<sluice::format::VolumeRoom> volumes;
  for (const double rate : rates) {
    volumes.push_back({.rate = rate, .room_bytes = kExperts * kExpertBytes});
  }
  const std::vector<uint64_t> room(rates.size(), kExperts * kExpertBytes);
  sluice::format::PieceDealer dealer(
      sluice::format::pack_shares(volumes, kExperts * kExpertBytes, 1), room, 1);
  std::vector<sluice::format::PackedPiece> packed;
  for (uint32_t i = 0; i < kExperts; ++i) {
    const uint64_t offset = content.experts[i].extents[0].offset;
    const std::vector<uint64_t>& checksums = content.checksums[i % content.checksums.size()];
    for (uint64_t p = 0, at = 0; at < kExpertBytes; ++p, at += kPieceBytes) {
      const auto bytes = static_cast<uint32_t>(std::min(kPieceBytes, kExpertBytes - at));
      packed.push_back({.segment = {i},
                        .memory_block = static_cast<uint32_t>(at / sluice::io::kBlockBytes),
                        .blocks = static_cast<uint32_t>(bytes / sluice::io::kBlockBytes),
                        .file = {static_cast<uint16_t>(dealer.deal(bytes)[0])},
                        .stored_bytes = bytes,
                        .offset = offset + at,
                        .checksum = checksums[p]});
    }
  }
  return Placement({.segments = content.experts, .shard_files = {}, .packed = std::move(packed)});
}

struct Speed {
  double bytes_per_second = 0;
  double read_share = 0;  ///< Bytes read by bytes asked for.
};

/// Asks for layer after layer for `seconds`, after a few that teach the streamer its drives.
Speed measure(const Placement& placement, const std::vector<std::string>& files, double seconds) {
  constexpr uint32_t kLayersToLearn = 3;
  const sluice::io::OpenedDrives opened = sluice::io::open_drives(files, {});
  sluice::stream::StreamerOptions options;
  options.slots = kExpertsOfLayer + kSpareSlots;
  options.slot_bytes = kExpertBytes;
  WeightStreamer streamer(placement, *opened.drives, options);
  uint32_t next = 0;
  const auto read_layer = [&] {
    std::array<SegmentId, kExpertsOfLayer> ids{};
    for (SegmentId& id : ids) id.value = next++ % kExperts;
    sluice::stream::SegmentBatch batch = streamer.request(ids);
    while (batch.next()) {
    }
  };
  for (uint32_t i = 0; i < kLayersToLearn; ++i) read_layer();
  const uint64_t read_before = streamer.counters().device_bytes_read;
  const uint64_t misses_before = streamer.counters().expert_misses;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{};
  do {
    read_layer();
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed.count() < seconds);
  const uint64_t read = streamer.counters().device_bytes_read - read_before;
  const double asked =
      static_cast<double>((streamer.counters().expert_misses - misses_before) * kExpertBytes);
  return {asked / passed.count(), static_cast<double>(read) / asked};
}

/// Drives that read together.
struct Set {
  std::string name;
  std::vector<std::string> files;
  std::vector<double> rates;  ///< Of each alone.
  Placement placement;
  Speed best{};
};

std::vector<Set> make_sets(const Content& content, const std::vector<std::string>& files,
                           const std::vector<double>& rates) {
  std::vector<Set> sets;
  for (size_t count = 2; count <= files.size(); ++count) {
    if (count != 2 && count != 4 && count != files.size()) continue;
    const std::vector<std::string> some(files.begin(), files.begin() + static_cast<long>(count));
    const std::vector<double> theirs(rates.begin(), rates.begin() + static_cast<long>(count));
    sets.push_back({"stripe", some, theirs, stripe(content, theirs)});
    sets.push_back({"copies", some, theirs, copies(content, count)});
  }
  return sets;
}

void keep_best(Speed& best, const Speed& speed) {
  if (speed.bytes_per_second > best.bytes_per_second) best = speed;
}

double sum(const std::vector<double>& numbers) {
  double total = 0;
  for (const double number : numbers) total += number;
  return total;
}

void print(const std::vector<Set>& sets, const std::vector<double>& rates, bool json) {
  nlohmann::json report{{"single", rates}, {"sets", nlohmann::json::array()}};
  if (!json) {
    for (const double rate : rates) fmt::print("1 drive             {:6.3f} GB/s\n", rate / 1e9);
  }
  for (const Set& set : sets) {
    const double share = set.best.bytes_per_second / sum(set.rates);
    if (!json) {
      fmt::print("{} drives, {:<8} {:6.3f} GB/s  {:5.3f} of the sum  {:5.3f} bytes read per byte\n",
                 set.files.size(), set.name, set.best.bytes_per_second / 1e9, share,
                 set.best.read_share);
    }
    report["sets"].push_back({{"drives", set.files.size()},
                              {"placement", set.name},
                              {"bytes_per_second", set.best.bytes_per_second},
                              {"share_of_sum", share},
                              {"bytes_read_per_byte", set.best.read_share}});
  }
  if (json) fmt::print("{}\n", report.dump());
}

void run(const Arguments& arguments) {
  if (arguments.files.empty()) {
    fmt::print("Without files there is nothing to measure; bench/striping.py emulates drives.\n");
    return;
  }
  const Content content = read_content(arguments.files.front());
  const Placement alone = copies(content, 1);
  std::vector<Speed> singles(arguments.files.size());
  std::vector<double> rates(arguments.files.size());
  std::vector<Set> sets;
  for (uint32_t turn = 0; turn < arguments.turns; ++turn) {
    for (size_t f = 0; f < arguments.files.size(); ++f) {
      keep_best(singles[f], measure(alone, {arguments.files[f]}, arguments.seconds));
      rates[f] = singles[f].bytes_per_second;
    }
    if (sets.empty()) sets = make_sets(content, arguments.files, rates);
    for (Set& set : sets) {
      keep_best(set.best, measure(set.placement, set.files, arguments.seconds));
      std::copy_n(rates.begin(), set.rates.size(), set.rates.begin());
    }
  }
  print(sets, rates, arguments.json);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  sluice::cli::OptionList options;
  options.arguments(
      {"FILE", "", "of the same bytes, an expert or more, each on a drive of its own"},
      arguments.files, sluice::cli::Completion::kFile, 0);
  options.number({"seconds", "S", "of a turn"}, arguments.seconds, {0.001, 3600});
  options.number({"turns", "N", "of each set of drives; the best counts"}, arguments.turns,
                 {1, 1000});
  options.flag({"json", "", "print JSON"}, arguments.json);
  return sluice::bench::run_main(argc, argv,
                                 "Reads experts from each drive, the first two, the first four and "
                                 "all; see bench/striping.py.",
                                 options, [&] { run(arguments); });
}
