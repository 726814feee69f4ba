#include "io/read_bench.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

namespace sluice::io {
namespace {

constexpr Nanos kAnswerMax = std::chrono::minutes(1);
constexpr double kEnough = 0.95;

/// A load under way.
class RunningLoad {
 public:
  RunningLoad(DriveArray& drives, const ReadLoad& load, uint64_t index, uint64_t seed)
      : drives_(drives),
        load_(load),
        index_(index),
        random_(seed + index),
        started_(load.setting.depth) {
    for (const ReadLoad::File& file : load.files) {
      SLUICE_CHECK(file.bytes >= load.setting.bytes);
      places_ += file.bytes / load.setting.bytes;
    }
    SLUICE_CHECK(load.memory.size() >= load.setting.window() && places_ > 0);
  }

  void start_all() {
    begin_ = drives_.now();
    for (uint32_t place = 0; place < load_.setting.depth; ++place) start(place);
  }
  /// Starts a read into one of the places in memory.
  void start(uint32_t place) {
    uint64_t at = random_() % places_;
    auto file = load_.files.begin();
    for (; at >= file->bytes / load_.setting.bytes; ++file) at -= file->bytes / load_.setting.bytes;
    const uint64_t bytes = load_.setting.bytes;
    const Read read{
        {index_ << 32 | place}, file->id, at * bytes, load_.memory.subspan(place * bytes, bytes)};
    started_[place] = drives_.now();
    drives_.submit({&read, 1});
  }
  void end(const Completion& completion, Nanos now) {
    if (completion.status != ReadStatus::kOk) {
      throw Error(ErrorCode::kIo, "{}: a read failed: {}; look into the system's log", load_.name,
                  completion.status == ReadStatus::kShort ? "it ended early"
                                                          : std::strerror(completion.error));
    }
    latencies_.push_back(now - started_[place_of(completion)]);
    end_ = now;
  }
  [[nodiscard]] static uint32_t place_of(const Completion& completion) {
    return static_cast<uint32_t>(completion.id.value);
  }
  /// Every place has been used.
  [[nodiscard]] bool has_enough() const { return latencies_.size() >= load_.setting.depth; }
  [[nodiscard]] uint32_t depth() const { return load_.setting.depth; }
  [[nodiscard]] const std::string& name() const { return load_.name; }
  [[nodiscard]] ReadTurn result() {
    const double bytes = static_cast<double>(latencies_.size() * load_.setting.bytes);
    return {bytes / std::max(to_seconds(end_ - begin_), 1e-9), std::move(latencies_)};
  }

 private:
  DriveArray& drives_;
  const ReadLoad& load_;
  const uint64_t index_;
  std::mt19937_64 random_;
  uint64_t places_ = 0;         // On the drive.
  std::vector<Nanos> started_;  // By place in memory.
  std::vector<Nanos> latencies_;
  Nanos begin_{}, end_{};
};

}  // namespace

std::vector<ReadTurn> measure_reads(DriveArray& drives, std::span<const ReadLoad> loads,
                                    const ReadTurnOptions& options) {
  std::vector<RunningLoad> running;
  uint64_t in_flight = 0;
  for (const ReadLoad& load : loads) {
    running.emplace_back(drives, load, running.size(), options.seed);
    in_flight += load.setting.depth;
  }
  const Nanos begin = drives.now();
  for (RunningLoad& load : running) load.start_all();
  std::array<Completion, 64> done;
  while (in_flight > 0) {
    const size_t count = drives.wait(done, kAnswerMax);
    if (count == 0) {
      throw Error(ErrorCode::kIo, "{}: no read has ended for a minute; look into the system's log",
                  running.front().name());
    }
    const Nanos now = drives.now();
    for (const Completion& completion : std::span(done).first(count)) {
      running[completion.id.value >> 32].end(completion, now);
    }
    const bool over = to_seconds(now - begin) >= options.seconds &&
                      std::ranges::all_of(running, &RunningLoad::has_enough);
    for (const Completion& completion : std::span(done).first(count)) {
      if (over) {
        --in_flight;
      } else {
        running[completion.id.value >> 32].start(RunningLoad::place_of(completion));
      }
    }
  }
  std::vector<ReadTurn> turns;
  for (RunningLoad& load : running) turns.push_back(load.result());
  return turns;
}

Nanos percentile(std::vector<Nanos> durations, double share) {
  if (durations.empty()) return {};
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(durations.size())));
  const auto at = durations.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::ranges::nth_element(durations, at);
  return *at;
}

Latency latency_of(const std::vector<Nanos>& durations) {
  return {percentile(durations, 0.5), percentile(durations, 0.9), percentile(durations, 0.99)};
}

ReadCell cell_of(const ReadSetting& setting, const std::vector<ReadTurn>& turns) {
  ReadCell cell{.setting = setting};
  std::vector<double> rates;
  std::vector<Nanos> latencies;
  for (const ReadTurn& turn : turns) {
    rates.push_back(turn.bytes_per_second);
    latencies.insert(latencies.end(), turn.latencies.begin(), turn.latencies.end());
  }
  cell.reads = latencies.size();
  cell.latency = latency_of(latencies);
  if (rates.empty()) return cell;
  const auto middle = rates.begin() + static_cast<ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  cell.bytes_per_second = *middle;
  return cell;
}

ReadCeiling ceiling_of(std::span<const ReadCell> cells) {
  SLUICE_CHECK(!cells.empty());
  const ReadCell& best = *std::ranges::max_element(cells, {}, &ReadCell::bytes_per_second);
  const ReadCell* enough = &best;
  for (const ReadCell& cell : cells) {
    const uint64_t window = cell.setting.window(), least = enough->setting.window();
    if (cell.bytes_per_second >= kEnough * best.bytes_per_second &&
        (window < least || (window == least && cell.bytes_per_second > enough->bytes_per_second))) {
      enough = &cell;
    }
  }
  return {best.bytes_per_second, best.setting, enough->setting};
}

}  // namespace sluice::io
