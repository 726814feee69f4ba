// Without this test a prediction could follow from something else than drives, memory, processor
// and routes, or differ from one run to the next.
#include "simulator/simulation.h"

#include "base/error.h"
#include "format/synthetic_checkpoint.h"
#include "io/test_files.h"
#include "model/loaded_model.h"
#include "stream/read_summary.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::simulator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

format::SyntheticShape shape() {
  format::SyntheticShape s = format::SyntheticShape::tiny();
  s.set_layers(6);
  s.expert_hidden = s.latent = 2048;  // Experts of several pieces; there is no memory behind them.
  return s;
}

/// A model of which only headers are there.
const std::filesystem::path& model() {
  static const io::TestFolder folder;
  static const bool written = [] {
    format::write_synthetic_checkpoint(folder.path(), shape(), {.headers_only = true});
    return true;
  }();
  EXPECT_TRUE(written);
  return folder.path();
}

const stream::RouteTable& routes() {
  static const stream::RouteTable table = [] {
    const format::SyntheticShape s = shape();
    stream::RouteProcess process(
        {.layers = s.layers - s.dense_layers, .experts = s.experts, .top_k = s.top_k}, 1);
    process.converse(40);
    return process.routes();
  }();
  return table;
}

SimulatedDrive drive(const char* name, double rate) {
  return {.name = name,
          .device = {.bytes_per_second = rate, .latency = Nanos(1000), .latency_spread = {}}};
}

/// Memory for the spine and a quarter of the experts.
uint64_t memory_bytes() {
  static const uint64_t bytes = [] {
    const stream::MemoryPlan all =
        model::inspect_model(model(), {.threads = 1, .memory_bytes = 4096 * kMiB, .context = 29})
            .plan;
    return all.total_bytes - all.expert_slots * 3 / 4 * all.slot_bytes;
  }();
  return bytes;
}

SimulationOptions options(std::vector<SimulatedDrive> drives) {
  return {.model = model(),
          .drives = std::move(drives),
          .memory_bytes = memory_bytes(),
          .prompt_tokens = 4,
          .tokens = 24,
          .routes = &routes()};
}

/// That computes nearly nothing.
ComputeRates endless() {
  return {.bf16 = 1e18,
          .mxfp4 = 1e18,
          .state = 1e18,
          .attention = 1e18,
          .vector = 1e18,
          .operation = Nanos(1)};
}

TEST(Simulation, TheSameOptionsGiveTheSameResultAndASeedAnother) {
  SimulationOptions same = options({drive("a", 20e9), drive("b", 10e9)});
  same.drives[1].device.latency_spread = Nanos(50'000);
  const SimulationResult first = simulate(same), again = simulate(same);
  same.seed = 2;
  EXPECT_EQ(first.reads_digest, again.reads_digest);
  EXPECT_EQ(first.stats.decode.elapsed, again.stats.decode.elapsed);
  EXPECT_NE(first.reads_digest, simulate(same).reads_digest);
  EXPECT_EQ(first.stats.decode.tokens, same.tokens);
  EXPECT_EQ(first.stats.prefill.tokens, same.prompt_tokens);
  EXPECT_EQ(first.stats.drive_names, (std::vector<std::string>{"a", "b"}));
}

TEST(Simulation, WithoutComputingADriveIsTheLimit) {
  SimulationOptions only_reading = options({drive("a", 20e9)});
  only_reading.computing = endless();
  const SimulationResult result = simulate(only_reading);
  const engine::PhaseStats& decode = result.stats.decode;
  EXPECT_LT(decode.hit_share(), 0.9);
  const double reading = double(decode.reading.streamer.device_bytes_read) / 20e9;
  EXPECT_NEAR(to_seconds(decode.elapsed), reading, 0.05 * reading);
}

TEST(Simulation, OfEndlessDrivesComputingIsTheLimit) {
  SimulationOptions only_computing = options({drive("a", 1e15)});
  only_computing.drives[0].device.latency = {};
  const engine::PhaseStats decode = simulate(only_computing).stats.decode;
  EXPECT_LT(to_seconds(decode.waiting()), 0.02 * to_seconds(decode.elapsed));
  only_computing.computing.bf16 /= 2;
  only_computing.computing.mxfp4 /= 2;
  only_computing.computing.operation *= 2;
  only_computing.computing.vector /= 2;
  only_computing.computing.state /= 2;
  only_computing.computing.attention /= 2;
  EXPECT_NEAR(to_seconds(simulate(only_computing).stats.decode.elapsed),
              2 * to_seconds(decode.elapsed), 0.03 * to_seconds(decode.elapsed));
}

TEST(Simulation, TwiceTheDrivesHalveTheReading) {
  const auto waiting = [](std::vector<SimulatedDrive> drives) {
    SimulationOptions only_reading = options(std::move(drives));
    only_reading.computing = endless();
    return to_seconds(simulate(only_reading).stats.decode.waiting());
  };
  const double one = waiting({drive("a", 5e9)});
  EXPECT_NEAR(waiting({drive("a", 5e9), drive("b", 5e9)}), one / 2, 0.1 * one);
  EXPECT_NEAR(waiting({drive("a", 5e9), drive("b", 2.5e9), drive("c", 2.5e9)}), one / 2, 0.2 * one);
}

TEST(Simulation, HintsUseTheTimeOfComputing) {
  const auto rate = [](bool hints) {
    SimulationOptions both = options({drive("a", 5e9)});
    both.hints = hints;
    both.recall = 0.9;
    return simulate(both);
  };
  const SimulationResult with = rate(true), without = rate(false);
  EXPECT_GT(with.stats.decode.reading.streamer.hint_hits, 0u);
  EXPECT_GT(with.guesses.guessed, 0u);
  EXPECT_EQ(without.stats.decode.reading.streamer.hints_started, 0u);
  EXPECT_LT(with.stats.decode.waiting(), without.stats.decode.waiting());
}

// Rescues move segments, and what has arrived of them, between slots that have no memory.
TEST(Simulation, CopiesHelpWhenADriveStalls) {
  SimulationOptions stalling = options({drive("a", 20e9), drive("b", 20e9)});
  stalling.drives[1].device.stall_chance = 0.05;
  stalling.drives[1].device.stall = std::chrono::seconds(2);
  stalling.drives[0].room_bytes = stalling.drives[1].room_bytes = 700 * kMiB;
  const SimulationResult one_copy = simulate(stalling);
  stalling.drives[0].room_bytes = stalling.drives[1].room_bytes = 2000 * kMiB;
  stalling.survive = 1;
  const SimulationResult two_copies = simulate(stalling);
  EXPECT_GT(two_copies.stats.decode.reading.streamer.rescues +
                two_copies.stats.prefill.reading.streamer.rescues,
            0u);
  const auto elapsed = [](const SimulationResult& result) {
    return result.stats.prefill.elapsed + result.stats.decode.elapsed;
  };
  EXPECT_LT(2 * elapsed(two_copies), elapsed(one_copy));
  EXPECT_EQ(two_copies.stored_bytes[0], two_copies.stored_bytes[1]);
}

TEST(Simulation, ASmallerSpineLeavesMemoryToExpertsAndComputesSooner) {
  SimulationOptions released = options({drive("a", 20e9)}), smaller = released;
  smaller.spine_bytes_per_weight = 1;
  const SimulationResult before = simulate(released), after = simulate(smaller);
  EXPECT_GT(after.plan.expert_slots, before.plan.expert_slots);
  EXPECT_LT(after.stats.decode.computing(), before.stats.decode.computing());
}

TEST(Simulation, RefusesWhatItCannotSimulate) {
  const auto error_of = [](const SimulationOptions& wrong) -> std::string {
    try {
      (void)simulate(wrong);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  SimulationOptions full = options({drive("a", 20e9)});
  full.drives[0].room_bytes = kMiB;
  EXPECT_THAT(error_of(full), AllOf(HasSubstr("lack room"), HasSubstr("--drive")));
  SimulationOptions other = options({drive("a", 20e9)});
  stream::RouteTable wrong = routes();
  wrong.layers = 1;
  other.routes = &wrong;
  EXPECT_THAT(error_of(other), HasSubstr("the routes are of a model with 1 layers of 32 experts"));
  SimulationOptions unnamed = options({drive("a", 20e9)});
  unnamed.as_stored = true;
  EXPECT_THAT(error_of(unnamed), AllOf(HasSubstr("no drive for the volume"), HasSubstr("--drive")));
}

}  // namespace
}  // namespace sluice::simulator
