// Reading speed as `sluice drives bench` measures it, as a share of what fio gets from the same
// file: fio, fio once more, and the engine's ways to read take turns in one run, so that all meet
// the same neighbours. A share is the median of those of each round, in which the mean of both fio
// is 1; rounds are added until its standard error is small enough. The share of the second fio in
// the first says how much of a difference is noise.
#include "base/error.h"
#include "benchmark.h"
#include "cli/options.h"
#include "cli/size_text.h"
#include "cli/text_table.h"
#include "engine/bench_spread.h"
#include "io/bench_file.h"
#include "io/pread_drives.h"
#include "io/read_bench.h"
#include "io/uring_drives.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
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
  uint32_t most_turns = 9;
  double error = 0.012;
  bool registered_only = false;
};

/// Memory that fio reads into as well: which pages a read goes to changes its speed by some
/// percent, so all readers get the same ones. Huge pages if the system has enough of them set
/// aside.
class SharedMemory {
 public:
  explicit SharedMemory(uint64_t bytes) {
    // fio wants a little more than its window, in whole huge pages.
    bytes_ = sluice::round_up(bytes, kHugePage) + kHugePage;
    for (const bool huge : {true, false}) {
      fd_ = ::memfd_create("drives_bench", MFD_CLOEXEC | (huge ? MFD_HUGETLB : 0));
      if (fd_ >= 0 && ::ftruncate(fd_, static_cast<off_t>(bytes_)) == 0) {
        void* const mapping = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (mapping != MAP_FAILED) {
          data_ = static_cast<std::byte*>(mapping);
          fio_ =
              fmt::format("{}:/proc/{}/fd/{}", huge ? "mmaphuge" : "mmapshared", ::getpid(), fd_);
          return;
        }
      }
      if (fd_ >= 0) ::close(fd_);
    }
    throw sluice::Error(sluice::ErrorCode::kOutOfMemory,
                        "there are no {} bytes to read into; give "
                        "smaller --sizes or --depths",
                        bytes);
  }
  ~SharedMemory() {
    ::munmap(data_, bytes_);
    ::close(fd_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, bytes_}; }
  /// As a value of fio's iomem.
  [[nodiscard]] const std::string& fio() const { return fio_; }

 private:
  static constexpr uint64_t kHugePage = 2u << 20;

  int fd_ = -1;
  uint64_t bytes_ = 0;
  std::byte* data_ = nullptr;
  std::string fio_;
};

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

/// fio with io_uring, its best settings for this: registered file and buffers. Nothing when it
/// cannot.
std::optional<Speed> measure_fio(const std::string& file, const ReadSetting& setting,
                                 double seconds, const SharedMemory& memory) {
  const std::optional<std::string> text = output_of(fmt::format(
      "fio --name=reads --filename='{}' --readonly --rw=randread --norandommap=1 --direct=1 "
      "--ioengine=io_uring --registerfiles=1 --fixedbufs=1 --iomem={} --bs={} --iodepth={} "
      "--time_based --runtime={}ms --output-format=json 2>&1",
      file, memory.fio(), setting.bytes, setting.depth,
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
                                 const SharedMemory& memory, bool registered_only) {
  std::vector<Reader> readers;
  if (measure_fio(source.fio_path, setting, 0.001, memory)) {
    for (const char* which : {"fio", "fio again"}) readers.push_back({which, nullptr});
  }
  const std::vector<std::string> paths = {source.file.open_path()};
  for (const bool registers : {true, false}) {
    sluice::io::UringResult ring =
        sluice::io::make_uring_drives(paths, {.reads_in_flight = setting.depth});
    if (!ring.drives) {
      fmt::print("no io_uring: {}\n", ring.refusal);
      break;
    }
    if (registers) ring.drives->use_memory(memory.bytes());
    readers.push_back({registers ? "registered" : "io_uring", std::move(ring.drives)});
    if (registered_only) return readers;
  }
  readers.push_back({"pread", std::make_unique<sluice::io::PreadDrives>(
                                  paths, sluice::io::PreadOptions{.threads = setting.depth})});
  return readers;
}

Speed measure(DriveArray& drives, const sluice::io::ReadLoad& load, double seconds, uint64_t seed) {
  const std::clock_t begin = std::clock();
  const sluice::Nanos wall_begin = drives.now();
  const auto turns =
      sluice::io::measure_reads(drives, {&load, 1}, {.seconds = seconds, .seed = seed});
  const double wall = sluice::to_seconds(drives.now() - wall_begin);
  const double processor = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return {turns.front().bytes_per_second, processor / wall};
}

double median(std::vector<double> values) {
  return sluice::engine::spread_of(std::move(values)).value_or(sluice::engine::Spread{}).median;
}

/// A median, and how exact it is.
struct Share {
  double value = 0;
  double error = 0;  ///< Standard error, from the median deviation: some turns are far off.
};

Share share_of(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - middle));
  // Of a normal distribution: its deviation is 1.4826 times the median one, and that of a median
  // 1.2533 times that of a mean.
  return {middle, 1.4826 * 1.2533 * median(std::move(deviations)) /
                      std::sqrt(static_cast<double>(values.size()))};
}

/// What the readers of one setting reached.
struct Shares {
  double reference = 0;           ///< Bytes a second of fio, or of the first reader without it.
  std::vector<Share> of_readers;  ///< The second fio as a share of the first, and so on.

  [[nodiscard]] double worst_error() const {
    double worst = 0;
    for (const Share& share : of_readers) worst = std::max(worst, share.error);
    return worst;
  }
};

std::vector<double> rates_of(const Reader& reader) {
  std::vector<double> rates;
  for (const Speed& speed : reader.turns) rates.push_back(speed.bytes_per_second);
  return rates;
}

Shares shares_of(const std::vector<Reader>& readers) {
  const std::vector<double> first = rates_of(readers.front());
  std::vector<double> reference = first;
  if (readers.size() > 1 && readers[1].drives == nullptr) {  // fio and fio again.
    const std::vector<double> again = rates_of(readers[1]);
    for (size_t turn = 0; turn < again.size(); ++turn) {
      reference[turn] = (first[turn] + again[turn]) / 2;
    }
  }
  Shares shares{.reference = median(reference), .of_readers = {}};
  for (const Reader& reader : std::span(readers).subspan(1)) {
    const bool is_fio = reader.drives == nullptr;
    shares.of_readers.push_back(
        share_of(sluice::engine::paired_ratios(rates_of(reader), is_fio ? first : reference)));
  }
  return shares;
}

std::vector<std::string> row_of(const ReadSetting& setting, const std::vector<Reader>& readers) {
  const Shares shares = shares_of(readers);
  std::vector<std::string> row = {sluice::cli::read_size_text(setting.bytes),
                                  fmt::format("{}", setting.depth),
                                  fmt::format("{}", readers.front().turns.size()),
                                  fmt::format("{:.2f}", shares.reference / 1e9)};
  for (const Share& share : shares.of_readers) {
    row.push_back(fmt::format("{:.3f} ({:.3f})", share.value, share.error));
  }
  for (const Reader& reader : readers) {
    std::vector<double> processors;
    for (const Speed& speed : reader.turns) processors.push_back(speed.processors);
    row.push_back(fmt::format("{:.2f}", median(std::move(processors))));
  }
  return row;
}

/// All readers of one setting, in an order that moves on from round to round.
std::vector<Reader> run(const Source& source, const Arguments& arguments,
                        const ReadSetting& setting, const SharedMemory& memory) {
  std::vector<Reader> readers = make_readers(source, setting, memory, arguments.registered_only);
  const sluice::io::ReadLoad load{.name = source.file.path().string(),
                                  .files = {{{0}, source.file.bytes()}},
                                  .setting = setting,
                                  .memory = memory.bytes()};
  for (uint32_t turn = 0;
       turn < arguments.turns ||
       (turn < arguments.most_turns && shares_of(readers).worst_error() > arguments.error);
       ++turn) {
    for (size_t i = 0; i < readers.size(); ++i) {
      Reader& reader = readers[(i + turn) % readers.size()];
      reader.turns.push_back(
          reader.drives
              ? measure(*reader.drives, load, arguments.seconds, turn + 1)
              : measure_fio(source.fio_path, setting, arguments.seconds, memory).value_or(Speed{}));
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
      const SharedMemory memory(bytes * depth);
      const std::vector<Reader> readers = run(source, arguments, {bytes, depth}, memory);
      if (!table) {
        std::vector<std::string> heads = {"read", "in flight", "turns",
                                          readers.front().name + " GB/s"};
        for (size_t r = 1; r < readers.size(); ++r) heads.push_back(readers[r].name);
        for (const Reader& reader : readers) heads.push_back(reader.name + " cpu");
        table.emplace(std::move(heads));
      }
      table->add(row_of({bytes, depth}, readers));
    }
  }
  fmt::print(
      "{}Rates as shares of the first with their standard errors, then the processors kept busy.\n",
      table->text());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  sluice::cli::OptionList options;
  options.string({"path", "PATH", "a file, or a folder to write one in"}, arguments.path);
  options.bytes({"file-size", "SIZE", "of a new file"}, arguments.file_bytes);
  options.sizes({"sizes", "SIZES", "bytes of a read"}, arguments.sizes);
  options.numbers({"depths", "N,N", "reads in flight"}, arguments.depths, {1, 256});
  options.number({"seconds", "S", "of a turn"}, arguments.seconds, {0.001, 3600});
  options.number({"turns", "N", "of each reader, at least"}, arguments.turns, {1, 1000});
  options.number({"most-turns", "N", "of each reader, while shares are less exact than --error"},
                 arguments.most_turns, {1, 1000});
  options.number({"error", "SHARE", "standard error that is small enough"}, arguments.error,
                 {0, 1});
  options.flag({"registered-only", "", "leave out reads into memory that is not registered"},
               arguments.registered_only);
  return sluice::bench::run_main(argc, argv, "Reads a file as the engine does and as fio does.",
                                 options, [&] { run_all(arguments); });
}
