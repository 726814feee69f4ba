#include "scenario.h"

#include "format/checkpoint.h"
#include "format/synthetic_checkpoint.h"
#include "model/packer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

namespace sluice::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Draws; what a seed gives is the same with every standard library.
class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t below(uint64_t count) { return random_() % count; }
  uint64_t from_to(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  bool one_in(uint64_t count) { return below(count) == 0; }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  /// Small values as often as large ones.
  double scale(double least, double most) { return least * std::pow(most / least, unit()); }
  Nanos time(Nanos most) {
    return Nanos(static_cast<int64_t>(below(static_cast<uint64_t>(most.count()))));
  }

 private:
  std::mt19937_64 random_;
};

io::SimDevice random_device(Dice& dice) {
  io::SimDevice device;
  device.bytes_per_second = dice.scale(20e6, 7e9);
  device.rate_jitter = dice.one_in(2) ? dice.unit() : 0;
  device.latency = dice.time(microseconds(200));
  device.latency_spread =
      dice.one_in(4) ? dice.time(milliseconds(20)) : dice.time(microseconds(99));
  device.tail_chance = dice.one_in(2) ? dice.scale(0.001, 0.1) : 0;
  device.queue = static_cast<uint32_t>(dice.from_to(1, 64));
  if (dice.one_in(3)) {
    device.throttle_after_bytes = dice.below(4u << 20);
    device.throttled_share = dice.scale(0.02, 1);
  }
  if (dice.one_in(2)) {
    device.stall_chance = dice.scale(0.001, 0.05);
    device.stall = dice.time(std::chrono::seconds(5));
  }
  device.error_chance = dice.one_in(2) ? dice.scale(0.002, 0.4) : 0;
  device.short_chance = dice.one_in(2) ? dice.scale(0.002, 0.4) : 0;
  return device;
}

}  // namespace

Checkpoint::Checkpoint()
    : folder_(std::filesystem::path(SLUICE_BINARY_DIR) / fmt::format("simulation-{}", ::getpid())) {
  format::SyntheticShape shape = format::SyntheticShape::tiny();
  shape.set_layers(5);
  shape.set_experts(12);
  shape.vocab = 512;
  format::write_synthetic_checkpoint(folder_, shape, {.seed = 5, .overwrite = true});
}

Checkpoint::~Checkpoint() { std::filesystem::remove_all(folder_); }

std::vector<std::string> Checkpoint::names_at(ShardId shard, uint64_t block) const {
  std::vector<std::string> names;
  const auto number_after = [](std::string_view text, std::string_view what) {
    return std::stoul(std::string(text.substr(text.find(what) + what.size())));
  };
  format::Checkpoint(folder_).visit_tensors(
      [&](std::string_view name, const format::TensorInfo& tensor) {
        if (tensor.shard != shard || tensor.offset >= block + io::kBlockBytes ||
            tensor.offset + tensor.bytes <= block) {
          return;
        }
        names.push_back(name.find(".experts.") == std::string_view::npos
                            ? fmt::format("tensor {}", name)
                            : fmt::format("expert {} of layer {}", number_after(name, ".experts."),
                                          number_after(name, ".layers.")));
      });
  return names;
}

Layouts::Layouts(const Checkpoint& checkpoint)
    : folder_(std::filesystem::path(SLUICE_BINARY_DIR) /
              fmt::format("simulation-layouts-{}", ::getpid())) {
  namespace fs = std::filesystem;
  fs::remove_all(folder_);
  const auto pack = [&](const char* name, uint32_t copies) {
    model::PackRequest request{.source = checkpoint.folder(),
                               .model = folder_ / name / "model",
                               .targets = {},
                               .codec = format::Codec::kZstd,
                               .copies = copies};
    fs::create_directories(request.model);
    for (const char* const label : {"a", "b", "c"}) {
      request.targets.push_back({.label = label, .folder = folder_ / name / label, .rate = 1.0});
      fs::create_directories(request.targets.back().folder);
    }
    model::Packer(request).run({}, false);
    return request.model;
  };
  const auto at = [](Layout layout) { return static_cast<size_t>(layout); };
  models_[at(Layout::kInPlace)] = checkpoint.folder();
  models_[at(Layout::kStripes)] = models_[at(Layout::kStripesInPlace)] = pack("stripes", 1);
  models_[at(Layout::kTwoCopies)] = pack("copies", 2);
  models_[at(Layout::kShardsTwice)] = checkpoint.folder();
  volumes_[at(Layout::kStripesInPlace)] = {checkpoint.folder()};
  volumes_[at(Layout::kShardsTwice)] = {folder_ / "shards"};
  fs::copy(checkpoint.folder(), folder_ / "shards");
}

Layouts::~Layouts() { std::filesystem::remove_all(folder_); }

namespace {

// What has nothing to do with where the weights lie.
Scenario random_setting(Dice& dice, uint64_t seed) {
  Scenario scenario;
  scenario.drives.seed = seed;
  scenario.drives.devices.clear();
  scenario.drives.collect_delay_max = dice.one_in(2) ? dice.time(milliseconds(5)) : Nanos(0);
  scenario.memory_share = dice.one_in(3) ? 0 : dice.unit();
  scenario.prefill_rows = static_cast<uint32_t>(dice.from_to(1, 16));
  scenario.piece_bytes = io::kBlockBytes << dice.below(9);
  scenario.bytes_in_flight = scenario.piece_bytes * dice.from_to(1, 32);
  scenario.computing_max =
      dice.one_in(2) ? microseconds(1) + dice.time(milliseconds(10)) : Nanos(1);
  return scenario;
}

// Nothing that it gives can be trusted. Only packs have checksums, so the shards of a released
// checkpoint are spared what nobody could notice.
void do_the_worst(Dice& dice, io::SimDevice& device, bool checked) {
  const auto chance = [&] { return dice.one_in(2) ? 0 : dice.one_in(4) ? 1 : dice.unit(); };
  device.faults_per_place = io::SimFault::kForGood;
  device.error_chance = chance();
  device.short_chance = chance();
  if (dice.one_in(2)) {
    // Short and often, or long and seldom: what hangs keeps its memory, and there is little.
    const bool often = dice.one_in(2);
    device.stall_chance = often ? dice.unit() : dice.scale(0.001, 0.02);
    device.stall = dice.time(often ? Nanos(milliseconds(300)) : std::chrono::seconds(20));
  }
  if (!checked) return;
  device.flip_chance = chance();
  device.misdirect_chance = chance();
}

}  // namespace

Scenario random_scenario(uint64_t seed) {
  Dice dice(seed);
  Scenario scenario = random_setting(dice, seed);
  for (uint64_t d = dice.from_to(1, 4); d > 0; --d) {
    scenario.drives.devices.push_back(random_device(dice));
  }
  return scenario;
}

Scenario random_survivable_scenario(uint64_t seed) {
  Dice dice(seed);
  Scenario scenario = random_setting(dice, seed);
  constexpr std::array kWithCopies = {Layout::kStripesInPlace, Layout::kTwoCopies,
                                      Layout::kShardsTwice};
  scenario.layout = kWithCopies[dice.below(kWithCopies.size())];
  const bool twice = scenario.layout == Layout::kShardsTwice;
  const size_t volumes = twice ? 2 : scenario.layout == Layout::kTwoCopies ? 3 : 4;
  for (size_t v = 0; v < volumes; ++v) scenario.drives.devices.push_back(random_device(dice));
  const auto spoil = [&](size_t device, bool checked) {
    do_the_worst(dice, scenario.drives.devices[device], checked);
    if (dice.one_in(3)) return;
    const Nanos from = dice.time(milliseconds(200));
    const bool for_good = dice.one_in(2);
    scenario.outages.push_back(
        {.device = device,
         .from = from,
         .until = for_good ? Nanos::max() : from + dice.time(std::chrono::seconds(2))});
  };
  if (scenario.layout == Layout::kStripesInPlace) {
    // Device 0 has the shards, the others have the packs.
    const bool shards = dice.one_in(2);
    for (size_t v = shards ? 0 : 1; v < (shards ? 1 : volumes); ++v) spoil(v, !shards);
  } else {
    spoil(dice.below(volumes), !twice);
  }
  return scenario;
}

std::vector<size_t> devices_of(const Scenario& scenario,
                               std::span<const format::StoredFile> files) {
  std::vector<size_t> devices;
  std::vector<uint32_t> volumes;  // That have files, in the order of their first.
  for (size_t f = 0; f < files.size(); ++f) {
    if (scenario.layout == Layout::kInPlace) {
      devices.push_back((f * 7 + scenario.drives.seed) % scenario.drives.devices.size());
      continue;
    }
    auto at = std::ranges::find(volumes, files[f].volume);
    if (at == volumes.end()) at = volumes.insert(at, files[f].volume);
    devices.push_back(static_cast<size_t>(at - volumes.begin()));
  }
  return devices;
}

Nanos longest_time(const std::vector<io::SimRead>& history, const Scenario& scenario,
                   const std::vector<size_t>& devices) {
  // In means, of what is exponential: minus the logarithm of the least number that is drawn.
  constexpr int kLongestAddition = 37;
  const auto seconds = [](Nanos time) { return static_cast<double>(time.count()) * 1e-9; };
  double sum = 0;
  for (const io::SimRead& read : history) {
    const io::SimDevice& device = scenario.drives.devices[devices[read.file.value]];
    sum += device.tail_factor * seconds(device.latency + device.latency_spread * kLongestAddition);
    sum += seconds(device.stall + scenario.drives.collect_delay_max);
    sum += static_cast<double>(read.bytes) * (1 + device.rate_jitter) /
           (device.bytes_per_second * device.throttled_share);
  }
  return Nanos(static_cast<int64_t>(sum * 1e9));
}

}  // namespace sluice::simulation
