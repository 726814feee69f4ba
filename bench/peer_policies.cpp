// How a public engine for several drives reads Kimi K3, as a model of its published policy on
// simulated drives, calibrated on its published speeds with one, two, three and four drives. Beside
// it `sluice simulate` shows what this program does on the same drives; docs/performance.md has
// both.
//
// The policy: each expert is a file, read in two halves, each from the drive that holds it and has
// the least (reads in flight + 1) * bytes / rate, with rates typed in by hand. The experts that the
// router names and that have not been read ahead are read by many threads at once. Those guessed
// for the next layer follow in a queue of their own with eight threads. What was guessed wrong and
// has not begun is dropped; what has begun is waited for. Nothing is kept from token to token.
#include "benchmark.h"
#include "cli/options.h"
#include "io/sim_drives.h"
#include "stream/route_process.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

using sluice::DriveId;
using sluice::FileId;
using sluice::Nanos;
using sluice::io::SimDrives;
using sluice::stream::RouteTable;

constexpr uint64_t kExpertBytes = 17'547'264, kHalfBytes = kExpertBytes / 2 / 4096 * 4096;
constexpr size_t kPrefetchThreads = 8, kGuessesMax = 16;

/// A drive of the published rig: its ceiling, and the share of reads whose expert it holds.
struct RigDrive {
  const char* name;
  double gigabytes_per_second, held;
};
constexpr RigDrive kInternal{"internal", 13.55, 1.0}, kGreen{"Green", 7.04, 1.0},
    kWhite{"White", 7.09, 0.889}, kYellow{"Yellow", 5.73, 0.665};

struct Rig {
  std::vector<RigDrive> drives;
  double published;  ///< Seconds of a token, without a draft model.
};

/// What a token took with a 6-token prompt, from the published 128 and 512 tokens: the difference
/// of both, so that loading and prompt fall out; with three drives, where only 128 are published,
/// the prompt takes what it took with four.
std::vector<Rig> published_rigs() {
  const auto between = [](double speed_128, double speed_512) {
    return (512 / speed_512 - 128 / speed_128) / (512 - 128);
  };
  return {{{kInternal}, between(0.4269, 0.4127)},
          {{kInternal, kGreen}, between(0.6245, 0.6326)},
          {{kInternal, kGreen, kWhite}, (128 / 0.7855 - 9.4) / 128},
          {{kInternal, kGreen, kWhite, kYellow}, between(0.8630, 0.9063)}};
}

/// What is not published and has to be fitted.
struct Unknowns {
  double recall = 0.65;     ///< Of the experts of a layer, those that were guessed.
  Nanos host{4'000'000};    ///< Of a layer: what the host does while it waits for no read.
  double efficiency = 1.0;  ///< Of the drives' ceilings, what such reads reach.
};

struct Outcome {
  double seconds = 0;    ///< Of a token.
  double gigabytes = 0;  ///< Read for a token.
};

/// One token after the other on simulated drives.
class Peer {
 public:
  Peer(const Rig& rig, const Unknowns& unknowns, const RouteTable& routes)
      : rig_(rig),
        unknowns_(unknowns),
        routes_(routes),
        drives_(files(rig), options(rig, unknowns)),
        in_flight_(rig.drives.size()) {}

  Outcome run() {
    const Nanos start = drives_.now();
    for (size_t turn = 0; turn < routes_.turns(); ++turn) run_layer(turn);
    wait_until([&] { return halves_.empty(); });
    const auto tokens = static_cast<double>(routes_.tokens());
    return {sluice::to_seconds(drives_.now() - start) / tokens,
            static_cast<double>(reads_) * kHalfBytes / 1e9 / tokens};
  }

 private:
  struct Half {
    size_t turn = 0;
    uint16_t expert = 0;
    size_t drive = 0;
    bool guessed = false;
  };

  static std::vector<sluice::io::SimFile> files(const Rig& rig) {
    std::vector<sluice::io::SimFile> files;
    for (size_t d = 0; d < rig.drives.size(); ++d) {
      files.push_back({.path = rig.drives[d].name,
                       .device = d,
                       .hollow_bytes = (kHalfBytes / 4096 + 1) * 4096});
    }
    return files;
  }

  static sluice::io::SimOptions options(const Rig& rig, const Unknowns& unknowns) {
    sluice::io::SimOptions options;
    options.devices.clear();
    options.keep_history = false;
    for (const RigDrive& drive : rig.drives) {
      options.devices.push_back(
          {.bytes_per_second = drive.gigabytes_per_second * 1e9 * unknowns.efficiency});
    }
    return options;
  }

  void run_layer(size_t turn) {
    const std::span<const uint16_t> needed = routes_.turn(turn);
    std::erase_if(guesses_waiting_, [&](const Half& half) { return half.turn <= turn; });
    for (const uint16_t expert : needed) {
      while (begun_[{turn, expert}] < 2) start({.turn = turn, .expert = expert});
    }
    guess(turn + 1);
    wait_until([&] {
      return std::ranges::none_of(halves_, [&](const auto& h) { return h.second.turn <= turn; });
    });
    std::erase_if(begun_, [&](const auto& entry) { return entry.first.first <= turn; });
    const Nanos ready = drives_.now() + unknowns_.host;
    while (drives_.now() < ready) collect(ready - drives_.now());
  }

  void guess(size_t turn) {
    if (turn >= routes_.turns()) return;
    std::set<uint16_t> guessed;
    for (const uint16_t expert : routes_.turn(turn)) {
      if (unit() < unknowns_.recall) guessed.insert(expert);
    }
    while (guessed.size() < std::min<size_t>(kGuessesMax, routes_.experts)) {
      guessed.insert(static_cast<uint16_t>(random_() % routes_.experts));
    }
    for (const uint16_t expert : guessed) {
      for (int half = 0; half < 2; ++half) {
        guesses_waiting_.push_back({.turn = turn, .expert = expert, .guessed = true});
      }
    }
    start_guesses();
  }

  void start_guesses() {
    while (guesses_in_flight_ < kPrefetchThreads && !guesses_waiting_.empty()) {
      const Half half = guesses_waiting_.front();
      guesses_waiting_.pop_front();
      ++guesses_in_flight_;
      start(half);
    }
  }

  void start(Half half) {
    half.drive = choose(routes_.id(half.turn, half.expert));
    ++begun_[{half.turn, half.expert}];
    ++in_flight_[half.drive];
    const sluice::io::ReadId id{reads_++};
    halves_[id.value] = half;
    const sluice::io::Read read{.id = id,
                                .file = FileId{static_cast<uint16_t>(half.drive)},
                                .offset = 0,
                                .into = std::span(memory_, kHalfBytes)};
    drives_.submit({&read, 1});
  }

  [[nodiscard]] size_t choose(uint32_t expert) const {
    size_t best = 0;
    double least = INFINITY;
    for (size_t d = 0; d < rig_.drives.size(); ++d) {
      if (!holds(d, expert)) continue;
      const double time = (in_flight_[d] + 1) / rig_.drives[d].gigabytes_per_second;
      if (time < least) std::tie(best, least) = std::pair(d, time);
    }
    return best;
  }

  [[nodiscard]] bool holds(size_t drive, uint32_t expert) const {
    std::minstd_rand hash(expert * 16 + static_cast<uint32_t>(drive) + 1);
    hash.discard(3);
    return static_cast<double>(hash()) / std::minstd_rand::max() < rig_.drives[drive].held;
  }

  template <class Condition>
  void wait_until(Condition condition) {
    while (!condition()) collect(std::chrono::hours(1));
  }

  void collect(Nanos timeout) {
    std::array<sluice::io::Completion, 16> done;
    const size_t count = drives_.wait(done, timeout);
    for (const sluice::io::Completion& completion : std::span(done).first(count)) {
      const Half half = halves_.at(completion.id.value);
      halves_.erase(completion.id.value);
      --in_flight_[half.drive];
      if (half.guessed) --guesses_in_flight_;
    }
    start_guesses();
  }

  [[nodiscard]] double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  const Rig& rig_;
  const Unknowns& unknowns_;
  const RouteTable& routes_;
  SimDrives drives_;
  std::mt19937_64 random_{1};
  std::vector<uint32_t> in_flight_;  // Reads, by drive.
  std::map<uint64_t, Half> halves_;  // In flight, by the id of the read.
  std::deque<Half> guesses_waiting_;
  size_t guesses_in_flight_ = 0;
  std::map<std::pair<size_t, uint16_t>, int> begun_;  // Halves of this turn's and the next's.
  uint64_t reads_ = 0;
  std::byte* const memory_ = reinterpret_cast<std::byte*>(4096);  // Never touched.
};

/// The greatest relative error over the rigs.
double error_of(const std::vector<Rig>& rigs, const Unknowns& unknowns, const RouteTable& routes) {
  double worst = 0;
  for (const Rig& rig : rigs) {
    const double seconds = Peer(rig, unknowns, routes).run().seconds;
    worst = std::max(worst, std::abs(seconds / rig.published - 1));
  }
  return worst;
}

/// The unknowns with the least error, on a grid.
Unknowns fit(const std::vector<Rig>& rigs, const RouteTable& routes) {
  Unknowns best;
  double least = INFINITY;
  for (double recall = 0.60; recall < 0.81; recall += 0.05) {
    for (double host_ms = 0.5; host_ms < 5.1; host_ms += 0.5) {
      for (double efficiency = 0.85; efficiency < 1.01; efficiency += 0.05) {
        const Unknowns candidate{recall, Nanos(static_cast<int64_t>(host_ms * 1e6)), efficiency};
        const double error = error_of(rigs, candidate, routes);
        if (error < least) std::tie(best, least) = std::pair(candidate, error);
      }
    }
  }
  return best;
}

RouteTable draw_routes(uint32_t tokens) {
  sluice::stream::RouteProcess process({}, 1);
  process.converse(tokens);
  return process.routes();
}

void print(const std::vector<Rig>& rigs, const Unknowns& unknowns, const RouteTable& routes) {
  fmt::print(
      "fitted: recall of guesses {:.2f}, {:.1f} ms of the host a layer, {:.2f} of the drives' "
      "ceilings\n\n"
      "drives  ceiling GB/s  published s/token  modelled s/token  ratio  modelled GB/token\n",
      unknowns.recall, sluice::to_milliseconds(unknowns.host), unknowns.efficiency);
  for (const Rig& rig : rigs) {
    double ceiling = 0;
    for (const RigDrive& drive : rig.drives) ceiling += drive.gigabytes_per_second;
    const Outcome outcome = Peer(rig, unknowns, routes).run();
    fmt::print("{:>6}  {:>12.2f}  {:>17.3f}  {:>16.3f}  {:>5.3f}  {:>17.1f}\n", rig.drives.size(),
               ceiling, rig.published, outcome.seconds, outcome.seconds / rig.published,
               outcome.gigabytes);
  }
  fmt::print(
      "\nfour drives, by the recall of the guesses, which differs between texts:\n"
      "recall  modelled s/token  modelled GB/token\n");
  for (int percent = 70; percent >= 30; percent -= 10) {
    Unknowns text = unknowns;
    text.recall = percent / 100.0;
    const Outcome outcome = Peer(rigs.back(), text, routes).run();
    fmt::print("{:>6.2f}  {:>16.3f}  {:>17.1f}\n", text.recall, outcome.seconds, outcome.gigabytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint32_t tokens = 8;
  sluice::cli::OptionList options;
  options.number({"tokens", "N", "that each setting runs"}, tokens, {1, 100'000});
  return sluice::bench::run_main(
      argc, argv, "A model of how the peer reads, fitted to the speeds that it published.", options,
      [&] {
        const std::vector<Rig> rigs = published_rigs();
        const Unknowns unknowns = fit(rigs, draw_routes(1));
        print(rigs, unknowns, draw_routes(tokens));
      });
}
