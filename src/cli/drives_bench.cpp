#include "base/error.h"
#include "cli/command.h"
#include "cli/drives_open.h"
#include "cli/drives_report.h"
#include "cli/files.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/size_text.h"
#include "cli/svg_chart.h"
#include "cli/terminal.h"
#include "format/output_file.h"
#include "stream/slot_arena.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

// Of each setting, apart from each other; more even out what neighbours do.
constexpr uint32_t kTurns = 3;
constexpr double kWarmUpSeconds = 0.05;

class DrivesBenchCommand : public Command {
 public:
  std::string name() const override { return "drives bench"; }
  std::string summary() const override { return "Measures how fast drives read"; }
  std::string details() const override;
  void declare(OptionList& options) override;
  int run() override;

 private:
  [[nodiscard]] std::vector<io::ReadSetting> settings() const;
  [[nodiscard]] DrivesReport measure(DriveSet& set);
  void sweep(DriveSet& set, OpenDrive& drive);
  [[nodiscard]] DrivesTogether measure_together(DriveSet& set);
  void use_memory(DriveSet& set, uint64_t bytes);
  int print(const DrivesReport& report) const;

  DriveSources sources_;
  std::vector<uint64_t> sizes_ = {64u << 10, 256u << 10, 1u << 20, 4u << 20, 17u << 20};
  std::vector<uint32_t> depths_ = {1, 2, 4, 16};
  double seconds_ = 1;
  bool json_ = false;
  std::string svg_;
  std::optional<stream::SlotArena> memory_;  // For reads; outlives all that read.
  std::span<std::byte> room_;                // The same.
  // For the display of progress, which has a thread of its own.
  std::atomic<uint32_t> steps_{0}, steps_done_{0};
};

std::string DrivesBenchCommand::details() const {
  return "Reads at random places, around the page cache, as the engine reads: each drive alone "
         "with every size and number of reads in flight, then all together. Tells the rate, how "
         "long reads took (half of them at most, 90 and 99 of 100 at most), the most that a drive "
         "gave, and how much must be in flight for 95 % of it. In a folder it writes a file of "
         "random bytes without a name, which goes when the program does. Paths on one device count "
         "as one drive. It gives no figures where reads would show the speed of memory: a file "
         "system in memory or without reads around the page cache, a loop device that caches, a "
         "file that sits in the page cache or was never written.";
}

void DrivesBenchCommand::declare(OptionList& options) {
  constexpr uint32_t kDepthMax = 256;
  options.arguments({"PATH", "", "a file to read, or a folder to write one in"}, sources_.paths,
                    Completion::kFile, 1);
  options.sizes({"sizes", "SIZES", "bytes of a read"}, sizes_);
  options.describe_default("64KiB,256KiB,1MiB,4MiB,17MiB");
  options.numbers({"depths", "N,N", "reads in flight"}, depths_, {1, kDepthMax});
  options.number({"seconds", "S", "for each size and number"}, seconds_, {0.001, 3600});
  options.bytes({"file-size", "SIZE", "of a new file; at most half of the free room"},
                sources_.file_bytes);
  options.describe_default("4GiB");
  options.flag({"drop-cache", "", "have the page cache forget the files first"},
               sources_.drop_cache);
  declare_read_method(options, sources_.io);
  options.flag({"json", "", "print one JSON object"}, json_);
  options.string({"svg", "FILE", "write a chart of rate by size too"}, svg_, Completion::kFile);
  options.flag({"quiet", "", "show no progress"}, sources_.quiet);
}

std::vector<io::ReadSetting> DrivesBenchCommand::settings() const {
  constexpr uint64_t kWindowMax = uint64_t{4} << 30;
  std::vector<io::ReadSetting> all;
  for (const uint64_t bytes : sizes_) {
    if (bytes % io::kBlockBytes != 0) {
      throw Error(ErrorCode::kInvalidInput,
                  "--sizes: {} bytes are no multiple of {}; give whole "
                  "blocks",
                  bytes, io::kBlockBytes);
    }
    for (const uint32_t depth : depths_) {
      all.push_back({bytes, depth});
      if (bytes > kWindowMax / depth) {
        throw Error(ErrorCode::kInvalidInput,
                    "--sizes and --depths: {} reads of {} would take more than 4 GiB of memory; "
                    "give less",
                    depth, read_size_text(bytes));
      }
    }
  }
  return all;
}

void DrivesBenchCommand::use_memory(DriveSet& set, uint64_t bytes) {
  set.array().use_memory({});
  memory_.emplace(bytes);
  room_ = {memory_->data(), bytes};
  set.array().use_memory(room_);
}

void DrivesBenchCommand::sweep(DriveSet& set, OpenDrive& drive) {
  const std::vector<io::ReadSetting> all = settings();
  const io::ReadLoad first = drive.load(all.front(), room_);
  (void)io::measure_reads(set.array(), {&first, 1}, {.seconds = kWarmUpSeconds});
  std::vector<std::vector<io::ReadTurn>> turns(all.size());
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    for (size_t s = 0; s < all.size(); ++s, ++steps_done_) {
      const io::ReadLoad load = drive.load(all[s], room_);
      turns[s].push_back(
          std::move(io::measure_reads(set.array(), {&load, 1},
                                      {.seconds = seconds_ / kTurns, .seed = turn * all.size() + s})
                        .front()));
    }
  }
  for (size_t s = 0; s < all.size(); ++s) {
    drive.result.cells.push_back(io::cell_of(all[s], turns[s]));
  }
  drive.result.ceiling = io::ceiling_of(drive.result.cells);
}

DrivesTogether DrivesBenchCommand::measure_together(DriveSet& set) {
  uint64_t bytes = 0;
  for (const OpenDrive& drive : set.drives()) bytes += drive.result.ceiling.enough.window();
  use_memory(set, bytes);
  std::vector<io::ReadLoad> loads;
  DrivesTogether together;
  std::span<std::byte> rest = room_;
  for (const OpenDrive& drive : set.drives()) {
    const io::ReadSetting& setting = drive.result.ceiling.enough;
    loads.push_back(drive.load(setting, rest));
    rest = rest.subspan(setting.window());
    together.sum_of_ceilings += drive.result.ceiling.bytes_per_second;
  }
  std::vector<std::vector<io::ReadTurn>> turns(loads.size());
  for (uint32_t turn = 0; turn < kTurns; ++turn, ++steps_done_) {
    std::vector<io::ReadTurn> all =
        io::measure_reads(set.array(), loads, {.seconds = seconds_ / kTurns, .seed = turn});
    for (size_t d = 0; d < loads.size(); ++d) turns[d].push_back(std::move(all[d]));
  }
  for (size_t d = 0; d < loads.size(); ++d) {
    together.drives.push_back(io::cell_of(loads[d].setting, turns[d]));
    together.bytes_per_second += together.drives.back().bytes_per_second;
  }
  return together;
}

DrivesReport DrivesBenchCommand::measure(DriveSet& set) {
  DrivesReport report;
  if (!set.empty()) {
    uint64_t window = 0;
    for (const io::ReadSetting& setting : settings()) window = std::max(window, setting.window());
    const size_t drives = set.drives().size();
    steps_ = static_cast<uint32_t>(kTurns * (drives * settings().size() + (drives > 1 ? 1 : 0)));
    const Progress progress(
        {.text = [&] { return fmt::format("measuring, {} of {}", steps_done_, steps_); },
         .share = [&] { return static_cast<double>(steps_done_) / std::max(1u, steps_.load()); }},
        sources_.quiet);
    use_memory(set, window);
    report.method = set.method();
    for (OpenDrive& drive : set.drives()) sweep(set, drive);
    set.check_after(window);
    if (drives > 1 && std::ranges::all_of(set.drives(), [](const OpenDrive& drive) {
          return drive.result.refused.empty();
        })) {
      report.together = measure_together(set);
    }
  }
  for (const OpenDrive& drive : set.drives()) report.drives.push_back(drive.result);
  for (const MeasuredDrive& drive : set.refused()) report.drives.push_back(drive);
  return report;
}

int DrivesBenchCommand::print(const DrivesReport& report) const {
  std::vector<const MeasuredDrive*> refused;
  for (const MeasuredDrive& drive : report.drives) {
    if (!drive.refused.empty()) refused.push_back(&drive);
  }
  if (!json_ && refused.size() == report.drives.size()) {
    throw Error(ErrorCode::kUnsupported, "{}: {}", refused[0]->name, refused[0]->refused);
  }
  write_output(json_ ? json_of(report) : text_of(report));
  return refused.empty() ? kExitOk : kExitUnsupported;
}

int DrivesBenchCommand::run() {
  check_writable("--svg", svg_);
  for (const io::ReadSetting& setting : settings()) {
    sources_.read_bytes_max = std::max(sources_.read_bytes_max, setting.bytes);
  }
  DriveSet set(sources_);
  const DrivesReport report = measure(set);
  if (!svg_.empty()) {
    format::OutputFile file(svg_);
    file.write(svg_of(report));
    file.commit();
  }
  return print(report);
}

}  // namespace

std::unique_ptr<Command> make_drives_bench_command() {
  return std::make_unique<DrivesBenchCommand>();
}

}  // namespace sluice::cli
