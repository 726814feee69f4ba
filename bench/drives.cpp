// Reading speed as `sluice drives bench` measures it, as a share of what fio gets from the same
// file: fio, fio once more, and the engine's ways to read take turns in one run, so that all meet
// the same neighbours. A share is the median of those within each round; the second fio says how
// much of a difference is noise.
#include "base/error.h"
#include "cli/options.h"
#include "cli/size_text.h"
#include "cli/text_table.h"
#include "io/bench_file.h"
#include "io/pread_drives.h"
#include "io/read_bench.h"
#include "io/uring_drives.h"
#include "stream/slot_arena.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using sluice::io::DriveArray;
using sluice::io::ReadSetting;

struct Arguments {
  std::string path = ".";
  uint64_t file_bytes = uint64_t{4} << 30;
  std::vector<uint64_t> sizes = {64u << 10, 256u << 10, 1u << 20, 4u << 20, 17u << 20};
  std::vector<uint32_t> depths = {1, 2, 4, 16};
  double seconds = 0.8;  // fio needs some milliseconds until it reads, and counts them.
  uint32_t turns = 9;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  sluice::cli::OptionList options;
  options.string({"path", "PATH", "a file, or a folder to write one in"}, arguments.path);
  options.bytes({"file-size", "SIZE", "of a new file"}, arguments.file_bytes);
  options.sizes({"sizes", "SIZES", "bytes of a read"}, arguments.sizes);
  options.numbers({"depths", "N,N", "reads in flight"}, arguments.depths, {1, 256});
  options.number({"seconds", "S", "of a turn"}, arguments.seconds, {0.001, 3600});
  options.number({"turns", "N", "of each reader"}, arguments.turns, {1, 1000});
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (std::ranges::find(words, "--help") != words.end()) {
    for (const sluice::cli::Option& option : options.all()) {
      fmt::print("--{} {}: {}{}\n", option.text.name, option.text.value, option.text.help,
                 option.fallback.empty() ? "" : fmt::format(" (default: {})", option.fallback));
    }
    std::exit(0);
  }
  options.parse(words);
  return arguments;
}

struct Speed {
  double bytes_per_second = 0;
  double processors = 0;  ///< Processor time by wall time, of the process that reads.
};

/// What a command prints; nothing when it fails.
std::optional<std::string> output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string text;
  std::array<char, 4096> part;
  while (const size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    text.append(part.data(), count);
  }
  return ::pclose(pipe) == 0 ? std::optional(text) : std::nullopt;
}

/// fio with io_uring, its best settings for this: registered file and buffers, huge pages if
/// `memory` says so. Nothing when it cannot.
std::optional<Speed> measure_fio(const std::string& file, const ReadSetting& setting,
                                 double seconds, std::string_view memory) {
  const std::optional<std::string> text = output_of(fmt::format(
      "fio --name=reads --filename='{}' --readonly --rw=randread --norandommap=1 --direct=1 "
      "--ioengine=io_uring --registerfiles=1 --fixedbufs=1 --iomem={} --bs={} --iodepth={} "
      "--time_based --runtime={}ms --output-format=json 2>&1",
      file, memory, setting.bytes, setting.depth,
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000))));
  if (!text || text->find('{') == std::string::npos) return std::nullopt;
  const nlohmann::json report =
      nlohmann::json::parse(text->substr(text->find('{')), nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded()) return std::nullopt;
  const nlohmann::json& job = report.at("jobs").at(0);
  return Speed{job.at("read").at("bw_bytes").get<double>(),
               (job.at("usr_cpu").get<double>() + job.at("sys_cpu").get<double>()) / 100};
}

/// Something that reads the file, and its turns.
struct Reader {
  std::string name;
  std::unique_ptr<DriveArray> drives;  // None: fio.
  std::string fio_memory;
  std::vector<Speed> turns{};
};

/// A file and how fio can open it.
struct Source {
  const sluice::io::BenchFile& file;
  std::string fio_path;
};

Source source_of(const sluice::io::BenchFile& file) {
  // A file without a name is known to others as one that this process has open.
  const bool has_name = file.write_bytes_per_second() == 0;
  const fs::path open = file.open_path();
  return {file, has_name ? open.string()
                         : fmt::format("/proc/{}/fd/{}", ::getpid(), open.filename().string())};
}

std::vector<Reader> make_readers(const Source& source, const ReadSetting& setting,
                                 std::span<std::byte> memory) {
  std::vector<Reader> readers;
  for (const char* pages : {"mmaphuge", "malloc"}) {
    if (measure_fio(source.fio_path, setting, 0.001, pages)) {
      for (const char* which : {"fio", "fio again"}) readers.push_back({which, nullptr, pages});
      break;
    }
  }
  const std::vector<std::string> paths = {source.file.open_path()};
  for (const bool registers : {true, false}) {
    sluice::io::UringResult ring =
        sluice::io::make_uring_drives(paths, {.reads_in_flight = setting.depth});
    if (!ring.drives) {
      fmt::print("no io_uring: {}\n", ring.refusal);
      break;
    }
    if (registers) ring.drives->use_memory(memory);
    readers.push_back({registers ? "registered" : "io_uring", std::move(ring.drives), ""});
  }
  readers.push_back({"pread",
                     std::make_unique<sluice::io::PreadDrives>(
                         paths, sluice::io::PreadOptions{.threads = setting.depth}),
                     ""});
  return readers;
}

Speed measure(DriveArray& drives, const sluice::io::ReadLoad& load, double seconds, uint64_t seed) {
  const std::clock_t begin = std::clock();
  const sluice::Nanos wall_begin = drives.now();
  const auto turns =
      sluice::io::measure_reads(drives, {&load, 1}, {.seconds = seconds, .seed = seed});
  const double wall = std::chrono::duration<double>(drives.now() - wall_begin).count();
  const double processor = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return {turns.front().bytes_per_second, processor / wall};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

template <class Value>
double median_of(const Reader& reader, const Value& value) {
  std::vector<double> values;
  for (size_t turn = 0; turn < reader.turns.size(); ++turn) values.push_back(value(turn));
  return median(std::move(values));
}

std::vector<std::string> row_of(const ReadSetting& setting, const std::vector<Reader>& readers) {
  const Reader& first = readers.front();
  const auto rate = [](const Reader& reader) {
    return [&reader](size_t turn) { return reader.turns[turn].bytes_per_second; };
  };
  std::vector<std::string> row = {sluice::cli::read_size_text(setting.bytes),
                                  fmt::format("{}", setting.depth),
                                  fmt::format("{:.2f}", median_of(first, rate(first)) / 1e9)};
  for (const Reader& reader : readers) {
    if (&reader == &first) continue;
    row.push_back(fmt::format("{:.3f}", median_of(reader, [&](size_t turn) {
                                return rate(reader)(turn) / rate(first)(turn);
                              })));
  }
  for (const Reader& reader : readers) {
    row.push_back(fmt::format(
        "{:.2f}", median_of(reader, [&](size_t turn) { return reader.turns[turn].processors; })));
  }
  return row;
}

/// All readers of one setting, in an order that moves on from round to round.
std::vector<Reader> run(const Source& source, const Arguments& arguments,
                        const ReadSetting& setting, std::span<std::byte> memory) {
  std::vector<Reader> readers = make_readers(source, setting, memory);
  const sluice::io::ReadLoad load{.name = source.file.path().string(),
                                  .files = {{{0}, source.file.bytes()}},
                                  .setting = setting,
                                  .memory = memory};
  for (uint32_t turn = 0; turn < arguments.turns; ++turn) {
    for (size_t i = 0; i < readers.size(); ++i) {
      Reader& reader = readers[(i + turn) % readers.size()];
      reader.turns.push_back(
          reader.drives
              ? measure(*reader.drives, load, arguments.seconds, turn + 1)
              : measure_fio(source.fio_path, setting, arguments.seconds, reader.fio_memory)
                    .value_or(Speed{}));
    }
  }
  return readers;
}

void run_all(const Arguments& arguments) {
  const sluice::io::BenchFile file(arguments.path,
                                   {.bytes = arguments.file_bytes, .drop_cache = true});
  if (!file.trouble().empty()) fmt::print("{}: {}\n", arguments.path, file.trouble());
  const Source source = source_of(file);
  std::optional<sluice::cli::TextTable> table;
  for (const uint64_t bytes : arguments.sizes) {
    if (file.bytes() < bytes) {
      throw sluice::Error(sluice::ErrorCode::kInvalidInput,
                          "{}: is shorter than a read of {} bytes; raise --file-size",
                          arguments.path, bytes);
    }
    for (const uint32_t depth : arguments.depths) {
      const sluice::stream::SlotArena arena(bytes * depth);
      const std::vector<Reader> readers =
          run(source, arguments, {bytes, depth}, {arena.data(), arena.bytes()});
      if (!table) {
        std::vector<std::string> heads = {"read", "in flight", readers.front().name + " GB/s"};
        for (size_t r = 1; r < readers.size(); ++r) heads.push_back(readers[r].name);
        for (const Reader& reader : readers) heads.push_back(reader.name + " cpu");
        table.emplace(std::move(heads));
      }
      table->add(row_of({bytes, depth}, readers));
    }
  }
  fmt::print("{}Rates as shares of the first, then the processors that each kept busy.\n",
             table->text());
}

}  // namespace

int main(int argc, char** argv) try {
  run_all(parse(argc, argv));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "drives_bench: %s\n", error.what());
  return 1;
}
