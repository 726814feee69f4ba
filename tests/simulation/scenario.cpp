#include "scenario.h"

#include "format/checkpoint.h"
#include "format/synthetic_checkpoint.h"

#include <cmath>
#include <fstream>
#include <random>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

namespace sluice::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

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
  const format::Checkpoint opened(folder_);
  for (const format::CheckpointFile& file : opened.files()) {
    files_.push_back({.path = file.path.string()});
    contents_.push_back(file_bytes(file.path));
  }
  for (size_t f = 0; f < files_.size(); ++f) files_[f].content = contents_[f];
}

Checkpoint::~Checkpoint() { std::filesystem::remove_all(folder_); }

std::vector<std::string> Checkpoint::names_at(DriveId file, uint64_t block) const {
  std::vector<std::string> names;
  const auto number_after = [](std::string_view text, std::string_view what) {
    return std::stoul(std::string(text.substr(text.find(what) + what.size())));
  };
  format::Checkpoint(folder_).visit_tensors(
      [&](std::string_view name, const format::TensorInfo& tensor) {
        if (tensor.file != file || tensor.offset >= block + io::kBlockBytes ||
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

Scenario random_scenario(uint64_t seed, const Checkpoint& checkpoint) {
  Dice dice(seed);
  Scenario scenario;
  scenario.drives.seed = seed;
  scenario.drives.devices.clear();
  for (uint64_t d = dice.from_to(1, 4); d > 0; --d) {
    scenario.drives.devices.push_back(random_device(dice));
  }
  scenario.files = checkpoint.files();
  for (io::SimFile& file : scenario.files) {
    file.device = dice.below(scenario.drives.devices.size());
  }
  scenario.drives.collect_delay_max = dice.one_in(2) ? dice.time(milliseconds(5)) : Nanos(0);
  scenario.memory_share = dice.one_in(3) ? 0 : dice.unit();
  scenario.prefill_rows = static_cast<uint32_t>(dice.from_to(1, 16));
  scenario.read_bytes = io::kBlockBytes << dice.below(9);
  scenario.bytes_in_flight = scenario.read_bytes * dice.from_to(1, 32);
  scenario.computing_max =
      dice.one_in(2) ? microseconds(1) + dice.time(milliseconds(10)) : Nanos(1);
  return scenario;
}

Nanos longest_time(const std::vector<io::SimRead>& history, const Scenario& scenario) {
  // In means, of what is exponential: minus the logarithm of the least number that is drawn.
  constexpr int kLongestAddition = 37;
  const auto seconds = [](Nanos time) { return static_cast<double>(time.count()) * 1e-9; };
  double sum = 0;
  for (const io::SimRead& read : history) {
    const io::SimDevice& device = scenario.drives.devices[scenario.files[read.drive.value].device];
    sum += device.tail_factor * seconds(device.latency + device.latency_spread * kLongestAddition);
    sum += seconds(device.stall + scenario.drives.collect_delay_max);
    sum += static_cast<double>(read.bytes) * (1 + device.rate_jitter) /
           (device.bytes_per_second * device.throttled_share);
  }
  return Nanos(static_cast<int64_t>(sum * 1e9));
}

}  // namespace sluice::simulation
