// Times opening a checkpoint: index, headers and their cross-checks, then the map of all weights.
// The ceiling is reading the same bytes and doing nothing with them, in turns in the same run.
#include "base/error.h"
#include "benchmark.h"
#include "cli/options.h"
#include "format/checkpoint.h"
#include "format/safetensors.h"
#include "format/synthetic_checkpoint.h"
#include "io/input_file.h"
#include "model/shape.h"
#include "model/weights.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;
using sluice::format::Checkpoint;
using sluice::format::SyntheticShape;

constexpr int kTurns = 3;  // The best counts.

struct Arguments {
  std::string folder;
  bool json = false, generate = false;
  uint32_t layers = 0, experts = 0, vocab = 0;  // 0: as in the release.
};

SyntheticShape shape_of(const Arguments& arguments) {
  SyntheticShape shape = SyntheticShape::k3();
  shape.vision_blocks = 27;
  if (arguments.layers > 0) shape.set_layers(arguments.layers);
  if (arguments.experts > 0) shape.set_experts(arguments.experts);
  if (arguments.vocab > 0) shape.vocab = arguments.vocab;
  return shape;
}

/// In a process of its own, because generating needs more memory than the opening whose peak is
/// measured.
void generate(const fs::path& folder, const SyntheticShape& shape) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 0;
    try {
      sluice::format::write_synthetic_checkpoint(folder, shape,
                                                 {.overwrite = true, .headers_only = true});
    } catch (const std::exception& error) {
      std::fprintf(stderr, "open_checkpoint_bench: %s\n", error.what());
      status = 1;
    }
    std::_Exit(status);
  }
  int status = 1;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    throw sluice::Error(sluice::ErrorCode::kIo, "{}: could not be generated", folder.string());
  }
}

/// Seconds by the wall clock, and of processor time of this process: on a shared machine the second
/// tells more.
struct Seconds {
  double wall = 1e30, processor = 1e30;
};

void keep_best(Seconds& best, const auto& action) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t processor_begin = std::clock();
  action();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  const double processor = static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC;
  best = {std::min(best.wall, wall.count()), std::min(best.processor, processor)};
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<double>(usage.ru_maxrss) / 1e6;
#else
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
#endif
}

/// Reads what opening has to read, through a buffer of one mebibyte; returns its bytes.
uint64_t read_headers(const fs::path& folder) {
  std::vector<std::byte> buffer(1u << 20);
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const sluice::io::InputFile file(entry.path().string());
    uint64_t bytes = file.bytes();
    if (entry.path().extension() == ".safetensors") {
      const std::span<std::byte> prefix = std::span(buffer).first(8);
      file.read(0, prefix);
      bytes = 8 + sluice::format::header_length(prefix, bytes, file.path());
    } else if (entry.path().extension() != ".json") {
      continue;
    }
    for (uint64_t at = 0; at < bytes; at += buffer.size()) {
      file.read(at, std::span(buffer).first(std::min<uint64_t>(buffer.size(), bytes - at)));
    }
    total += bytes;
  }
  return total;
}

struct Result {
  uint64_t header_bytes = 0, tensors = 0, segments = 0;
  Seconds read, open, map;
  double open_megabytes = 0, map_megabytes = 0;  // The process's peak so far.
};

Result measure(const fs::path& folder) {
  Result result;
  (void)read_headers(folder);  // From here on everything is in the page cache.
  for (int turn = 0; turn < kTurns; ++turn) {
    keep_best(result.read, [&] { result.header_bytes = read_headers(folder); });
    keep_best(result.open, [&] { result.tensors = Checkpoint(folder).tensor_count(); });
  }
  result.open_megabytes = peak_megabytes();
  const Checkpoint checkpoint(folder);
  constexpr uint64_t kPanelBytes = 16u << 20;
  for (int turn = 0; turn < kTurns; ++turn) {
    keep_best(result.map, [&] {
      const sluice::model::ModelShape shape =
          sluice::model::parse_shape(checkpoint.config_json(), (folder / "config.json").string());
      result.segments = sluice::model::WeightMap(checkpoint, shape, kPanelBytes).segments.size();
    });
  }
  result.map_megabytes = peak_megabytes();
  return result;
}

void print(const Result& r, bool json) {
  const double megabytes = static_cast<double>(r.header_bytes) / 1e6;
  const double of_read = r.open.processor / r.read.processor;
  if (json) {
    const auto seconds = [](std::string_view name, const Seconds& s) {
      return fmt::format("\"{0}_seconds\": {1:.4f}, \"{0}_processor_seconds\": {2:.4f}, ", name,
                         s.wall, s.processor);
    };
    fmt::print(
        "{{\"tensors\": {}, \"segments\": {}, \"header_megabytes\": {:.3f}, {}{}{}"
        "\"open_of_read\": {:.1f}, \"open_peak_megabytes\": {:.1f}, "
        "\"map_peak_megabytes\": {:.1f}}}\n",
        r.tensors, r.segments, megabytes, seconds("read", r.read), seconds("open", r.open),
        seconds("map", r.map), of_read, r.open_megabytes, r.map_megabytes);
    return;
  }
  const auto seconds = [](const Seconds& s) {
    return fmt::format("{:7.3f} s, {:7.3f} s of processor time", s.wall, s.processor);
  };
  fmt::print("read  {}: {:.1f} MB of headers and index\n", seconds(r.read), megabytes);
  fmt::print("open  {}: {} tensors, {:.1f} times reading, peak {:.1f} MB\n", seconds(r.open),
             r.tensors, of_read, r.open_megabytes);
  fmt::print("map   {}: {} segments, peak {:.1f} MB\n", seconds(r.map), r.segments,
             r.map_megabytes);
}

void run(const Arguments& arguments) {
  const bool temporary = arguments.folder.empty();
  if (temporary && arguments.generate) {
    throw sluice::Error(sluice::ErrorCode::kInvalidInput, "--generate needs a FOLDER to write in");
  }
  const fs::path folder =
      temporary ? fs::temp_directory_path() / fmt::format("sluice-open-checkpoint-{}", ::getpid())
                : fs::path(arguments.folder);
  if (temporary || arguments.generate) generate(folder, shape_of(arguments));
  const Result result = measure(folder);
  if (temporary) fs::remove_all(folder);
  print(result, arguments.json);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  sluice::cli::OptionList options;
  options.optional_argument({"FOLDER", "", "a checkpoint"}, arguments.folder,
                            sluice::cli::Completion::kFolder);
  options.describe_default("one of headers alone, in a temporary folder");
  options.flag(
      {"generate", "", "first write one of headers alone into FOLDER; its shards have holes"},
      arguments.generate);
  for (const auto& [name, to] :
       {std::pair{"layers", &arguments.layers}, std::pair{"experts", &arguments.experts},
        std::pair{"vocab", &arguments.vocab}}) {
    options.number({name, "N", "of the checkpoint that is written"}, *to, {1, 1u << 24});
    options.describe_default("as in the release");
  }
  options.flag({"json", "", "print JSON"}, arguments.json);
  return sluice::bench::run_main(
      argc, argv, "Time to open a checkpoint, beside that of reading the same bytes.", options,
      [&] { run(arguments); });
}
