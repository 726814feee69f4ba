#include "base/error.h"
#include "cli/command.h"
#include "cli/drives_open.h"
#include "cli/drives_verdict.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/size_text.h"
#include "cli/terminal.h"
#include "cli/text_table.h"
#include "stream/slot_arena.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

// A panel's edge and half an expert: what the latency of a drive and its rate decide.
constexpr std::array<uint64_t, 2> kSizes = {256u << 10, 8u << 20};
// The engine reads pieces of about so much, and keeps about so many in flight on a fast drive.
constexpr io::ReadSetting kDeep = {1u << 20, 16};
constexpr uint32_t kTurns = 3;

class DrivesCompareCommand : public Command {
 public:
  std::string name() const override { return "drives compare"; }
  std::string summary() const override { return "Says whether a drive is as good as another"; }
  std::string details() const override;
  void declare(OptionList& options) override;
  int run() override;

 private:
  [[nodiscard]] DriveComparison measure(DriveSet& set);
  /// Reads of both drives in turns, `count` of each.
  [[nodiscard]] std::array<std::vector<io::ReadTurn>, 2> take_turns(DriveSet& set,
                                                                    const io::ReadSetting& setting,
                                                                    uint32_t count, double seconds);
  [[nodiscard]] std::string text(const DriveComparison& comparison) const;
  [[nodiscard]] std::string json(const DriveComparison& comparison) const;

  DriveSources sources_{.file_bytes = uint64_t{1} << 30};
  std::string path_, reference_;
  uint32_t reads_ = 200;
  double seconds_ = 1;
  bool json_ = false;
  std::optional<stream::SlotArena> memory_;  // Outlives all that read.
  std::atomic<uint32_t> steps_done_{0};
};

std::string DrivesCompareCommand::details() const {
  return fmt::format(
      "Is a USB disk, or one across the network, good enough beside the drives that are there? "
      "Reads at random places of both in turns, one at a time, 256 KiB and 8 MiB, and then with 16 "
      "reads of 1 MiB in flight. A layer goes on when its last read has ended, and drives that "
      "hold "
      "equal shares of it start together. So a drive whose reads take up to {0} times as long and "
      "whose rate is no smaller than that is as good: it is inside the noise. Up to {1} times, it "
      "is usable: the engine gives it less to read, and it still ends in time. Beyond, it ends "
      "most layers last, unless its rate is good with many reads in flight, which hide how long "
      "each takes.",
      kAsGoodRatio, kUsableRatio);
}

void DrivesCompareCommand::declare(OptionList& options) {
  options.argument({"PATH", "", "a file to read, or a folder to write one in"}, path_,
                   Completion::kFile);
  options.string({"against", "REF", "the same on the drive to compare with; must be given"},
                 reference_, Completion::kFile);
  options.number({"reads", "N", "of each size"}, reads_, {2, 1'000'000});
  options.number({"seconds", "S", "for each drive with many reads in flight"}, seconds_,
                 {0.001, 3600});
  options.bytes({"file-size", "SIZE", "of a new file; at most half of the free room"},
                sources_.file_bytes);
  options.describe_default("1GiB");
  options.flag({"drop-cache", "", "have the page cache forget the files first"},
               sources_.drop_cache);
  declare_read_method(options, sources_.io);
  options.flag({"json", "", "print one JSON object"}, json_);
  options.flag({"quiet", "", "show no progress"}, sources_.quiet);
}

std::array<std::vector<io::ReadTurn>, 2> DrivesCompareCommand::take_turns(
    DriveSet& set, const io::ReadSetting& setting, uint32_t count, double seconds) {
  std::array<std::vector<io::ReadTurn>, 2> turns;
  const std::span<std::byte> room(memory_->data(), memory_->bytes());
  for (uint32_t turn = 0; turn < count; ++turn) {
    for (const size_t d : {turn % 2, 1 - turn % 2}) {
      const io::ReadLoad load = set.load(d, setting, room);
      turns[d].push_back(std::move(
          io::measure_reads(set.array(), {&load, 1}, {.seconds = seconds, .seed = turn}).front()));
    }
    ++steps_done_;
  }
  return turns;
}

DriveComparison DrivesCompareCommand::measure(DriveSet& set) {
  const uint32_t steps = kTurns + reads_ * static_cast<uint32_t>(kSizes.size());
  const Progress progress(
      {.text = [&] { return fmt::format("comparing, {} of {}", steps_done_, steps); },
       .share = [&] { return static_cast<double>(steps_done_) / steps; }},
      sources_.quiet);
  memory_.emplace(std::max(kSizes.back(), kDeep.window()));
  set.array().use_memory({memory_->data(), memory_->bytes()});
  (void)take_turns(set, {kSizes.front(), 1}, 2, 0);  // Warms up what is asked for first.
  DriveComparison comparison{.deep = kDeep};
  for (const uint64_t bytes : kSizes) {
    const auto turns = take_turns(set, {bytes, 1}, reads_, 0);
    comparison.latencies.push_back({bytes, io::cell_of({bytes, 1}, turns[0]).latency,
                                    io::cell_of({bytes, 1}, turns[1]).latency});
  }
  const auto turns = take_turns(set, kDeep, kTurns, seconds_ / kTurns);
  comparison.path_rate = io::cell_of(kDeep, turns[0]).bytes_per_second;
  comparison.reference_rate = io::cell_of(kDeep, turns[1]).bytes_per_second;
  return comparison;
}

std::string DrivesCompareCommand::text(const DriveComparison& comparison) const {
  TextTable table({"one at a time", "which", "p50 ms", "p90 ms", "p99 ms", "drive"});
  for (const ComparedLatency& latency : comparison.latencies) {
    const std::string size = read_size_text(latency.bytes);
    const auto row = [&](const char* which, const io::Latency& of, const std::string& drive) {
      table.add({size, which, fmt::format("{:.3f}", to_milliseconds(of.p50)),
                 fmt::format("{:.3f}", to_milliseconds(of.p90)),
                 fmt::format("{:.3f}", to_milliseconds(of.p99)), drive});
    };
    const auto times = [](Nanos path, Nanos reference) {
      return fmt::format("{:.2f}",
                         to_milliseconds(path) / std::max(to_milliseconds(reference), 1e-6));
    };
    row("this", latency.path, path_);
    row("reference", latency.reference, reference_);
    table.add({size, "ratio", times(latency.path.p50, latency.reference.p50),
               times(latency.path.p90, latency.reference.p90),
               times(latency.path.p99, latency.reference.p99), ""});
  }
  return table.text() +
         fmt::format("\n{} reads of {} in flight: {:.2f} GB/s, reference {:.2f} GB/s.\n{}.\n",
                     comparison.deep.depth, read_size_text(comparison.deep.bytes),
                     comparison.path_rate / 1e9, comparison.reference_rate / 1e9,
                     verdict_of(comparison).text);
}

std::string DrivesCompareCommand::json(const DriveComparison& comparison) const {
  const auto figures = [](const io::Latency& latency) {
    return Json{{"p50_ms", to_milliseconds(latency.p50)},
                {"p90_ms", to_milliseconds(latency.p90)},
                {"p99_ms", to_milliseconds(latency.p99)}};
  };
  const DriveVerdict verdict = verdict_of(comparison);
  Json out = {
      {"path", path_}, {"against", reference_}, {"reads", reads_}, {"latencies", Json::array()}};
  for (const ComparedLatency& latency : comparison.latencies) {
    out["latencies"].push_back({{"read_bytes", latency.bytes},
                                {"path", figures(latency.path)},
                                {"against", figures(latency.reference)}});
  }
  out["deep"] = {{"read_bytes", comparison.deep.bytes},
                 {"depth", comparison.deep.depth},
                 {"path_bytes_per_second", comparison.path_rate},
                 {"against_bytes_per_second", comparison.reference_rate}};
  out["latency_ratio"] = verdict.latency_ratio;
  out["rate_ratio"] = verdict.rate_ratio;
  out["verdict"] = cli::name(verdict.grade);
  out["verdict_text"] = verdict.text;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int DrivesCompareCommand::run() {
  if (reference_.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "--against is missing: name a file or folder on a drive that is good enough");
  }
  sources_.paths = {path_, reference_};
  sources_.read_bytes_max = kSizes.back();
  DriveSet set(sources_);
  set.demand_all();
  const DriveComparison comparison = measure(set);
  set.check_after(memory_->bytes());
  set.demand_all();
  write_output(json_ ? json(comparison) : text(comparison));
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_drives_compare_command() {
  return std::make_unique<DrivesCompareCommand>();
}

}  // namespace sluice::cli
