// Measures what coding the scales of experts saves and what decoding them costs one core. The
// ceiling is checking the same pieces without a codec, in turns in the same run.
#include "benchmark.h"
#include "cli/options.h"
#include "format/checkpoint.h"
#include "format/piece_decoder.h"
#include "format/storage_reader.h"
#include "model/shape.h"
#include "model/shard_layout.h"
#include "model/weights.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;
using namespace sluice;

constexpr int kTurns = 5;  // The best counts.

struct Arguments {
  std::string folder;
  uint32_t experts = 64;
};

using Bytes = std::vector<std::byte>;

/// Pieces of experts, apart by what they hold.
struct Pieces {
  std::vector<Bytes> scales, codes;
};

Pieces draw(uint32_t experts) {
  constexpr size_t kMatrices = 3, kScaleBytes = 84 * 4096, kCodeBytes = 1344 * 4096;
  std::mt19937_64 random(1);
  Pieces pieces;
  for (uint32_t i = 0; i < experts * kMatrices; ++i) {
    Bytes& scales = pieces.scales.emplace_back(kScaleBytes);
    for (std::byte& scale : scales) {
      const uint64_t percent = random() % 100;
      scale = std::byte(percent < 82 ? 119 : percent < 99 ? 120 : 121);
    }
  }
  // Codes are read, but not coded: what they hold does not matter here.
  for (uint32_t i = 0; i < experts * kMatrices; ++i) pieces.codes.emplace_back(kCodeBytes);
  return pieces;
}

Pieces read(const fs::path& folder, uint32_t experts) {
  const format::Checkpoint checkpoint(folder);
  const model::ModelShape shape =
      model::parse_shape(checkpoint.config_json(), (folder / "config.json").string());
  const model::WeightMap weights(checkpoint, shape, model::panel_bytes_max(shape));
  std::vector<uint64_t> sizes;
  for (const format::CheckpointFile& file : checkpoint.files()) sizes.push_back(file.bytes);
  const model::ShardLayout layout(weights, sizes);
  format::StorageReader reader(checkpoint.storage());
  Pieces pieces;
  const auto first = static_cast<uint32_t>(weights.pass_order.size());
  for (uint32_t e = 0; e < std::min(experts, weights.expert_count()); ++e) {
    const format::Segment& segment = layout.segment(first + e);
    const format::Extent& extent = segment.extents.front();
    for (const model::PackPiece& piece :
         layout.pieces(first + e, extent.shard, format::Codec::kZstd)) {
      Bytes bytes(piece.cut.bytes());
      const uint64_t begin = std::max(piece.cut.memory_offset(), extent.memory_offset);
      const uint64_t end = std::min(piece.cut.memory_offset() + piece.cut.bytes(),
                                    extent.memory_offset + extent.bytes);
      reader.read(extent.shard, extent.offset + begin - extent.memory_offset,
                  std::span(bytes).subspan(begin - piece.cut.memory_offset(), end - begin));
      (piece.codec == format::Codec::kRaw ? pieces.codes : pieces.scales).push_back(bytes);
    }
  }
  return pieces;
}

/// Of processor time: on a shared machine it tells more than the wall clock.
double best_seconds(const std::function<void()>& action) {
  double best = 1e30;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::clock_t begin = std::clock();
    action();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

uint64_t total(const std::vector<Bytes>& pieces) {
  uint64_t bytes = 0;
  for (const Bytes& piece : pieces) bytes += piece.size();
  return bytes;
}

/// Bytes that reading moves: whole blocks, and raw when the codec saves none of them.
uint64_t stored_bytes(const Bytes& piece, const Bytes& frame) {
  const uint64_t blocks = round_up(frame.size(), io::kBlockBytes);
  return frame.empty() || blocks >= piece.size() ? piece.size() : blocks;
}

double accept_all(const std::vector<Bytes>& pieces, const std::vector<Bytes>& stored,
                  format::Codec codec) {
  format::PieceDecoder decoder;
  Bytes memory;
  uint64_t bytes = 0;
  const double seconds = best_seconds([&] {
    bytes = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (stored[i].empty()) continue;
      memory.resize(pieces[i].size());
      std::ranges::copy(stored[i], memory.begin());
      const format::Holder holder{.file = {},
                                  .codec = codec,
                                  .checked = true,
                                  .stored_bytes = stored[i].size(),
                                  .checksum = format::piece_checksum(stored[i])};
      if (decoder.accept(holder, memory) != format::PieceVerdict::kGood) std::abort();
      bytes += pieces[i].size();
    }
  });
  return static_cast<double>(bytes) / 1e6 / std::max(seconds, 1e-6);
}

void report(const char* what, const std::vector<Bytes>& pieces, uint64_t all_bytes) {
  std::vector<Bytes> frames;
  const double encoding = best_seconds([&] {
    frames.clear();
    for (const Bytes& piece : pieces) frames.push_back(format::encode_piece(piece));
  });
  uint64_t stored = 0;
  for (size_t i = 0; i < pieces.size(); ++i) stored += stored_bytes(pieces[i], frames[i]);
  const auto bytes = static_cast<double>(total(pieces));
  fmt::print("{:<7} {:8.2f} MB, stored {:8.2f} MB ({:5.1f} %), saves {:5.2f} % of all\n", what,
             bytes / 1e6, static_cast<double>(stored) / 1e6,
             100.0 * static_cast<double>(stored) / bytes,
             100.0 * (bytes - static_cast<double>(stored)) / static_cast<double>(all_bytes));
  fmt::print(
      "        encodes {:.0f} MB/s, decodes {:.0f} MB/s, checks without a codec {:.0f} MB/s\n",
      bytes / 1e6 / std::max(encoding, 1e-6), accept_all(pieces, frames, format::Codec::kZstd),
      accept_all(pieces, pieces, format::Codec::kRaw));
}

void run(const Arguments& arguments) {
  const Pieces pieces = arguments.folder.empty() ? draw(arguments.experts)
                                                 : read(arguments.folder, arguments.experts);
  const uint64_t all = total(pieces.scales) + total(pieces.codes);
  if (!pieces.scales.empty()) report("scales", pieces.scales, all);
  if (!arguments.folder.empty()) report("codes", pieces.codes, all);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  cli::OptionList options;
  options.optional_argument({"FOLDER", "", "a checkpoint"}, arguments.folder,
                            cli::Completion::kFolder);
  // As published of Kimi K3: 82 % have one exponent, 17 % the next, and the rest the one after.
  options.describe_default("scales that are drawn like those of K3");
  options.number({"experts", "N", "to take"}, arguments.experts, {1, 100'000});
  return bench::run_main(argc, argv, "What coding the scales of experts saves, and costs.", options,
                         [&] { run(arguments); });
}
