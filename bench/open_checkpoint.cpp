// Times opening a checkpoint: index, headers and their cross-checks, then the map of all weights.
// The ceiling is reading the same bytes and doing nothing with them, in turns in the same run.
#include "base/error.h"
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
#include <vector>

#include <fmt/format.h>

namespace {

namespace fs = std::filesystem;
using sluice::format::Checkpoint;
using sluice::format::SyntheticShape;

constexpr const char* kUsage =
    "usage: open_checkpoint_bench [--json] [FOLDER | --generate FOLDER [SHAPE]]\n"
    "SHAPE: [--layers N] [--experts N] [--vocab N]; what is left out is that of the release.\n"
    "--generate first writes a checkpoint with headers and no data: its shards are sparse files.\n"
    "Without a folder such a checkpoint is written into a temporary one and removed again.\n";

constexpr int kTurns = 3;  // The best counts.

struct Arguments {
  fs::path folder;
  bool json = false, generate = false;
  SyntheticShape shape = SyntheticShape::k3();
};

[[noreturn]] void refuse() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.shape.vision_blocks = 27;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto number = [&] {
      const int value = i + 1 < argc ? std::atoi(argv[++i]) : 0;
      if (value <= 0) refuse();
      return static_cast<uint32_t>(value);
    };
    if (argument == "--json") {
      arguments.json = true;
    } else if (argument == "--generate") {
      arguments.generate = true;
    } else if (argument == "--layers") {
      arguments.shape.set_layers(number());
    } else if (argument == "--experts") {
      arguments.shape.set_experts(number());
    } else if (argument == "--vocab") {
      arguments.shape.vocab = number();
    } else if (argument.starts_with("-") || !arguments.folder.empty()) {
      refuse();
    } else {
      arguments.folder = argument;
    }
  }
  if (arguments.generate && arguments.folder.empty()) refuse();
  return arguments;
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

}  // namespace

int main(int argc, char** argv) try {
  Arguments arguments = parse(argc, argv);
  const bool temporary = arguments.folder.empty();
  if (temporary) {
    arguments.folder =
        fs::temp_directory_path() / fmt::format("sluice-open-checkpoint-{}", ::getpid());
  }
  if (temporary || arguments.generate) generate(arguments.folder, arguments.shape);
  const Result result = measure(arguments.folder);
  if (temporary) fs::remove_all(arguments.folder);
  print(result, arguments.json);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "open_checkpoint_bench: %s\n", error.what());
  return 1;
}
