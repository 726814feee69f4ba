#include "base/error.h"
#include "cli/command.h"
#include "cli/drives_windows.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "format/read_trace_file.h"
#include "io/disk_counters.h"
#include "io/drive_list.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

/// What the drives did between two looks.
struct View {
  double begin_seconds = 0, seconds = 0;
  std::vector<std::string> names;
  std::vector<io::DriveRates> rates;  ///< By name.
  bool of_system = false;             ///< With what only the system knows: writing, busy time.
};

std::string text_of(const View& view) {
  std::vector<std::string> heads = {"drive",     "GB/s",       "reads/s",
                                    "in flight", "latency ms", "share %"};
  if (view.of_system) heads.insert(heads.end(), {"busy %", "written GB/s"});
  TextTable table(heads);
  double all = 0;
  for (size_t d = 0; d < view.names.size(); ++d) {
    const io::DriveRates& rates = view.rates[d];
    all += rates.read_bytes_per_second;
    std::vector<std::string> cells = {view.names[d],
                                      fmt::format("{:.3f}", rates.read_bytes_per_second / 1e9),
                                      fmt::format("{:.0f}", rates.reads_per_second),
                                      fmt::format("{:.1f}", rates.queue),
                                      fmt::format("{:.3f}", rates.latency_ms),
                                      fmt::format("{:.1f}", 100 * rates.share)};
    if (view.of_system) {
      cells.push_back(fmt::format("{:.1f}", 100 * rates.busy));
      cells.push_back(fmt::format("{:.3f}", rates.write_bytes_per_second / 1e9));
    }
    table.add(std::move(cells));
  }
  return table.text() + fmt::format("{:.3f} GB/s together, {:.1f} s after the start\n", all / 1e9,
                                    view.begin_seconds + view.seconds);
}

std::string json_of(const View& view) {
  Json out = {
      {"begin_seconds", view.begin_seconds}, {"seconds", view.seconds}, {"drives", Json::array()}};
  for (size_t d = 0; d < view.names.size(); ++d) {
    const io::DriveRates& rates = view.rates[d];
    Json drive = {{"name", view.names[d]},
                  {"bytes_per_second", rates.read_bytes_per_second},
                  {"reads_per_second", rates.reads_per_second},
                  {"in_flight", rates.queue},
                  {"latency_ms", rates.latency_ms},
                  {"share", rates.share}};
    if (view.of_system) {
      drive["busy_share"] = rates.busy;
      drive["write_bytes_per_second"] = rates.write_bytes_per_second;
    }
    out["drives"].push_back(std::move(drive));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// `text` with the cursor taken back over `lines` lines first, and what they had cleared.
std::string rewritten(const std::string& text, size_t lines) {
  std::string out = lines == 0 ? "" : fmt::format("\x1b[{}A", lines);
  for (const char c : text) out += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return out;
}

std::vector<io::DiskCounters> look() {
  std::ifstream in("/proc/diskstats", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return io::parse_disk_counters(text);
}

io::DiskCounters of_disk(const std::vector<io::DiskCounters>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &io::DiskCounters::name);
  return found == all.end() ? io::DiskCounters{.name = name} : *found;
}

/// The disks under the paths, or all that have something mounted.
std::vector<std::string> disks_of(const std::vector<std::string>& paths) {
  std::vector<std::string> disks;
  for (const io::ListedDrive& drive : io::list_drives("/", {paths.begin(), paths.end()})) {
    for (const std::string& disk : drive.disks) {
      if (std::ranges::find(disks, disk) == disks.end()) disks.push_back(disk);
    }
    if (drive.disks.empty() && !paths.empty()) {
      throw Error(ErrorCode::kUnsupported,
                  "{}: the system counts nothing for {}; follow a run instead: sluice run "
                  "--read-trace FILE, and --trace FILE here",
                  drive.paths.front().string(), drive.mount.file_system);
    }
  }
  if (disks.empty()) {
    throw Error(ErrorCode::kUnsupported,
                "this system has no disks that it counts for; follow a run with --trace FILE");
  }
  return disks;
}

class DrivesWatchCommand : public Command {
 public:
  std::string name() const override { return "drives watch"; }
  std::string summary() const override { return "Shows what the drives are doing"; }
  std::string details() const override {
    return "Once in each interval: rate, reads, how many were in flight on average, how long a "
           "read took on average, and the share of all bytes read. From the system's counters, for "
           "the disks under the paths or for all that have something mounted; or with --trace from "
           "a run of Sluice, which may still be going on: it is shown from its beginning, by its "
           "own time, as far as its reads have been written, and the view ends with it. Ctrl-C "
           "ends the view.";
  }
  void declare(OptionList& options) override {
    options.arguments({"PATH", "", "a file or folder on a drive to watch"}, paths_,
                      Completion::kFile, 0);
    options.string({"trace", "FILE", "follow the trace that a run writes with --read-trace"},
                   trace_, Completion::kFile);
    options.number({"interval", "S", "seconds from one view to the next"}, interval_,
                   {0.001, 86400});
    options.number({"count", "N", "views to show"}, count_, {1, 1u << 30});
    options.describe_default("until Ctrl-C");
    options.flag({"json", "", "print one JSON object a line for each view"}, json_);
  }
  int run() override;

 private:
  void watch_system();
  void watch_trace();
  void show(const View& view);
  /// Waits, at most until Ctrl-C.
  void pause(double seconds) const;
  [[nodiscard]] bool over() const { return interrupt_->flag() || (count_ > 0 && shown_ == count_); }

  std::optional<InterruptGuard> interrupt_;  // While run() runs.
  std::vector<std::string> paths_;
  std::string trace_;
  double interval_ = 1;
  uint32_t count_ = 0, shown_ = 0;  // 0: no end.
  size_t lines_ = 0;                // On the terminal, to be written over.
  bool json_ = false;
};

void DrivesWatchCommand::show(const View& view) {
  ++shown_;
  if (json_) {
    write_output(json_of(view));
    return;
  }
  const std::string text = text_of(view);
  const bool live = stdout_is_terminal();
  write_output(live ? rewritten(text, lines_) : text + "\n");
  lines_ = static_cast<size_t>(std::ranges::count(text, '\n'));
}

void DrivesWatchCommand::pause(double seconds) const {
  constexpr auto kSliceMax = std::chrono::milliseconds(100);
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (!interrupt_->flag() && Clock::now() < until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    (void)::poll(nullptr, 0, static_cast<int>(std::min(left, kSliceMax).count()));
  }
}

void DrivesWatchCommand::watch_system() {
  const std::vector<std::string> disks = disks_of(paths_);
  const auto start = Clock::now();
  auto before_at = start;
  std::vector<io::DiskCounters> before = look();
  while (true) {
    pause(interval_);
    if (over()) return;
    std::vector<io::DiskCounters> after = look();
    const auto after_at = Clock::now();
    View view{.begin_seconds = to_seconds(before_at - start),
              .seconds = to_seconds(after_at - before_at),
              .names = disks,
              .rates = {},
              .of_system = true};
    for (const std::string& disk : disks) {
      view.rates.push_back(
          io::rates_between(of_disk(before, disk), of_disk(after, disk), view.seconds));
    }
    io::share_out(view.rates);
    show(view);
    if (over()) return;
    before = std::move(after);
    before_at = after_at;
  }
}

void DrivesWatchCommand::watch_trace() {
  constexpr double kLookSeconds = 0.1;
  format::ReadTraceReader reader(trace_);
  TraceWindows windows(reader.header(),
                       std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(interval_)));
  const auto show_window = [&](const std::optional<TraceWindow>& window) {
    if (!window || over()) return false;
    show({window->begin_seconds, window->seconds, reader.header().drives, window->drives});
    return true;
  };
  while (!over()) {
    for (format::TraceEvents events; !over() && reader.next(events);) {
      for (const format::TracedRead& read : events.reads.entries) windows.add(read);
      while (!over() && show_window(windows.take())) {
      }
    }
    if (reader.end()) {
      (void)show_window(windows.rest());
      return;
    }
    pause(kLookSeconds);
    reader.look_again();
  }
}

int DrivesWatchCommand::run() {
  if (!trace_.empty() && !paths_.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "PATH and --trace: a trace has all drives of its run; "
                "give one of the two");
  }
  interrupt_.emplace();
  if (trace_.empty()) {
    watch_system();
  } else {
    watch_trace();
  }
  interrupt_.reset();
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_drives_watch_command() {
  return std::make_unique<DrivesWatchCommand>();
}

}  // namespace sluice::cli
