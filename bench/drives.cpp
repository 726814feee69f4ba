// Reading speed as a share of what fio gets from the same file: threads with pread, io_uring, and
// fio take turns in one run, and the best turn of each counts. Pieces are read one after another,
// into huge pages, with some of them in flight.
#include "base/error.h"
#include "io/drive_array.h"
#include "io/input_file.h"
#include "io/pread_drives.h"
#include "io/uring_drives.h"
#include "stream/slot_arena.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using sluice::io::DriveArray;

constexpr const char* kUsage =
    "usage: drives_bench [--file FILE] [--mebibytes M] [--seconds S] [--turns N]\n"
    "FILE is written when it does not exist, and then removed again. fio takes part where it is\n"
    "installed; its buffers are of huge pages when enough of them are reserved "
    "(vm.nr_hugepages).\n";

// An expert of K3, and the pieces that it may be cut in.
constexpr std::array<uint64_t, 3> kPieceBytes = {17'547'264, 2u << 20, 1u << 20};
constexpr std::array<uint32_t, 3> kDepths = {1, 4, 16};

struct Arguments {
  fs::path file;
  uint64_t mebibytes = 4096;
  double seconds = 1;
  uint32_t turns = 3;
};

[[noreturn]] void refuse() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) refuse();
    const char* value = argv[++i];
    if (name == "--file") {
      arguments.file = value;
    } else if (name == "--mebibytes") {
      arguments.mebibytes = std::strtoull(value, nullptr, 10);
    } else if (name == "--seconds") {
      arguments.seconds = std::strtod(value, nullptr);
    } else if (name == "--turns") {
      arguments.turns = static_cast<uint32_t>(std::strtoul(value, nullptr, 10));
    } else {
      refuse();
    }
  }
  if (arguments.mebibytes == 0 || arguments.turns == 0) refuse();
  return arguments;
}

/// Random bytes: what was never written, or is all zeros, costs a drive nothing.
void write_file(const fs::path& path, uint64_t mebibytes) {
  std::ofstream out(path, std::ios::binary);
  std::mt19937_64 random(1);
  std::vector<uint64_t> block((1u << 20) / sizeof(uint64_t));
  for (uint64_t i = 0; i < mebibytes; ++i) {
    for (uint64_t& word : block) word = random();
    out.write(reinterpret_cast<const char*>(block.data()), 1 << 20);
  }
  out.close();
  if (!out) {
    throw sluice::Error(sluice::ErrorCode::kIo, "{}: cannot be written; choose another --file",
                        path.string());
  }
}

/// A file that goes however the program ends.
struct RemovedAtEnd {
  RemovedAtEnd() = default;
  ~RemovedAtEnd() {
    std::error_code ignored;
    if (!path.empty()) fs::remove(path, ignored);
  }
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;

  fs::path path;
};

/// What is measured: pieces of a size, a number of them in flight.
struct Setting {
  uint64_t piece_bytes;
  uint32_t depth;
};

struct Speed {
  double bytes_per_second = 0;
  double processors = 0;  ///< Processor time by wall time, of this process.
};

/// Reads on for `seconds`, with `depth` reads in flight at every time.
Speed measure(DriveArray& drives, uint64_t file_bytes, const Setting& setting, double seconds,
              std::span<std::byte> memory) {
  uint64_t offset = 0, bytes = 0, in_flight = 0;
  const auto start = [&](uint64_t place) {
    if (offset + setting.piece_bytes > file_bytes) offset = 0;
    const sluice::io::Read read{
        {place}, {0}, offset, memory.subspan(place * setting.piece_bytes, setting.piece_bytes)};
    drives.submit({&read, 1});
    offset += setting.piece_bytes;
    ++in_flight;
  };
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t processor_begin = std::clock();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (uint64_t place = 0; place < setting.depth; ++place) start(place);
  while (in_flight > 0) {
    std::array<sluice::io::Completion, 16> done;
    const size_t count = drives.wait(done, std::chrono::seconds(60));
    for (const sluice::io::Completion& completion : std::span(done).first(count)) {
      if (completion.status != sluice::io::ReadStatus::kOk) {
        throw sluice::Error(sluice::ErrorCode::kIo, "{}: a read failed: {}", drives.path({0}),
                            std::strerror(completion.error));
      }
      bytes += setting.piece_bytes;
      --in_flight;
      if (passed() < seconds) start(completion.id.value);
    }
  }
  const double wall = passed();
  const double processor = static_cast<double>(std::clock() - processor_begin) / CLOCKS_PER_SEC;
  return {static_cast<double>(bytes) / wall, processor / wall};
}

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
std::optional<Speed> measure_fio(const fs::path& file, const Setting& setting, double seconds,
                                 std::string_view memory) {
  const std::optional<std::string> text = output_of(fmt::format(
      "fio --name=reads --filename='{}' --readonly --rw=read --direct=1 --ioengine=io_uring "
      "--registerfiles=1 --fixedbufs=1 --iomem={} --bs={} --iodepth={} --time_based --runtime={}ms "
      "--output-format=json 2>&1",
      file.string(), memory, setting.piece_bytes, setting.depth,
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000))));
  if (!text || text->find('{') == std::string::npos) return std::nullopt;
  const nlohmann::json report =
      nlohmann::json::parse(text->substr(text->find('{')), nullptr, /*allow_exceptions=*/false);
  if (report.is_discarded()) return std::nullopt;
  const nlohmann::json& job = report.at("jobs").at(0);
  return Speed{job.at("read").at("bw_bytes").get<double>(),
               (job.at("usr_cpu").get<double>() + job.at("sys_cpu").get<double>()) / 100};
}

/// Something that reads the file, and its best turn.
struct Reader {
  std::string name;
  std::unique_ptr<DriveArray> drives;  // None: fio.
  std::string fio_memory;
  Speed best{};
};

std::vector<Reader> make_readers(const std::string& file, const Setting& setting,
                                 std::span<std::byte> memory) {
  std::vector<Reader> readers;
  for (const char* pages : {"mmaphuge", "malloc"}) {
    if (measure_fio(file, setting, 0.001, pages)) {
      readers.push_back({fmt::format("fio, {}", pages), nullptr, pages});
      break;
    }
  }
  readers.push_back({"pread",
                     std::make_unique<sluice::io::PreadDrives>(
                         std::vector{file}, sluice::io::PreadOptions{.threads = setting.depth}),
                     ""});
  for (const bool registers : {false, true}) {
    sluice::io::UringResult ring = sluice::io::make_uring_drives(
        {file}, {.reads_in_flight = setting.depth});
    if (!ring.drives) {
      fmt::print("no io_uring: {}\n", ring.refusal);
      break;
    }
    if (registers) ring.drives->use_memory(memory);
    readers.push_back({ring.drives->method(), std::move(ring.drives), ""});
  }
  return readers;
}

void run(const Arguments& arguments, const Setting& setting) {
  const uint64_t file_bytes =
      fs::file_size(arguments.file) / sluice::io::kBlockBytes * sluice::io::kBlockBytes;
  if (file_bytes < setting.piece_bytes) {
    throw sluice::Error(sluice::ErrorCode::kInvalidInput,
                        "{}: is shorter than a piece of {} bytes; raise --mebibytes",
                        arguments.file.string(), setting.piece_bytes);
  }
  const sluice::stream::SlotArena arena(setting.depth * setting.piece_bytes);
  const std::span<std::byte> memory(arena.data(), arena.bytes());
  std::memset(memory.data(), 1, memory.size());
  std::vector<Reader> readers = make_readers(arguments.file.string(), setting, memory);
  for (uint32_t turn = 0; turn < arguments.turns; ++turn) {
    for (Reader& reader : readers) {
      const Speed speed =
          reader.drives ? measure(*reader.drives, file_bytes, setting, arguments.seconds, memory)
                        : measure_fio(arguments.file, setting, arguments.seconds, reader.fio_memory)
                              .value_or(Speed{});
      if (speed.bytes_per_second > reader.best.bytes_per_second) reader.best = speed;
    }
  }
  const Speed& ceiling = readers.front().best;
  for (const Reader& reader : readers) {
    fmt::print("{:>9} bytes, {:>2} in flight  {:<32} {:6.2f} GB/s  {:5.2f}  {:5.2f} processors\n",
               setting.piece_bytes, setting.depth, reader.name, reader.best.bytes_per_second / 1e9,
               reader.best.bytes_per_second / ceiling.bytes_per_second, reader.best.processors);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  Arguments arguments = parse(argc, argv);
  if (arguments.file.empty()) arguments.file = fmt::format("drives-bench-{}", ::getpid());
  RemovedAtEnd written;
  if (!fs::exists(arguments.file)) {
    written.path = arguments.file;
    write_file(arguments.file, arguments.mebibytes);
  }
  for (const uint64_t piece_bytes : kPieceBytes) {
    for (const uint32_t depth : kDepths) run(arguments, {piece_bytes, depth});
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "drives_bench: %s\n", error.what());
  return 1;
}
