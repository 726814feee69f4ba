// Runs the whole program on simulated drives: without this test a fault, a slow drive or an order
// of arrival that nobody thought of could change an answer, stop the program or leak a slot.
#include "base/digest.h"
#include "base/error.h"
#include "engine/generate.h"
#include "model/loaded_model.h"
#include "scenario.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::simulation {
namespace {

using io::SimDrives;
using io::SimOutcome;
using io::SimRead;
using model::LoadedModel;

const Checkpoint& checkpoint() {
  static const Checkpoint written;
  return written;
}

const Layouts& layouts() {
  static const Layouts written(checkpoint());
  return written;
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

/// Calls `test` with each seed, until one fails, and says how to repeat it. The seed comes out
/// first, as a check that fails ends the program.
template <class Test>
void for_each_seed(Test test) {
  const uint64_t first = from_environment("SLUICE_SIMULATION_FIRST_SEED", 1);
  const uint64_t count = from_environment("SLUICE_SIMULATION_SEEDS", SEEDS);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string repeat =
        fmt::format("SLUICE_SIMULATION_FIRST_SEED={} SLUICE_SIMULATION_SEEDS=1 repeats it", seed);
    fmt::print("seed {}: {}\n", seed, repeat);
    std::fflush(stdout);
    SCOPED_TRACE(repeat);
    test(seed);
    if (testing::Test::HasFailure()) return;
  }
}

struct Answer {
  std::vector<TokenId> tokens;
  uint64_t logits_digest = 0;  ///< Of all rows.
  friend bool operator==(const Answer&, const Answer&) = default;
};

void PrintTo(const Answer& answer, std::ostream* out) {
  for (const TokenId token : answer.tokens) *out << token.value << ' ';
  *out << fmt::format("with logits of digest {:016x}", answer.logits_digest);
}

/// Lets the drives go on while the model computes.
class Computing final : public model::ForwardObserver {
 public:
  Computing(SimDrives& drives, Nanos most, uint64_t seed)
      : drives_(drives), most_(most), random_(seed) {}
  void on_tensor(uint32_t, model::Tap, backend::Tensor) override { pass_time(); }
  void on_routes(uint32_t, const backend::Routes&) override { pass_time(); }

 private:
  void pass_time() {
    drives_.advance(Nanos(static_cast<int64_t>(random_() % static_cast<uint64_t>(most_.count()))));
  }

  SimDrives& drives_;
  const Nanos most_;
  std::mt19937_64 random_;
};

Answer ask(LoadedModel& loaded, model::SequenceState& state) {
  const std::atomic<bool> never{false};
  engine::GenerateRequest request{.prompt = {}, .max_new = 4, .run_last = true};
  for (int32_t i = 0; i < 14; ++i) request.prompt.push_back({i * i * 7 % 512});
  Answer answer;
  state.clear();
  engine::GenerateCallbacks callbacks;
  callbacks.on_logits = [&](std::span<const float> logits) {
    // Row by row: how many come together depends on the scenario.
    for (size_t at = 0; at < logits.size(); at += loaded.shape().vocab) {
      const std::span<const float> row = logits.subspan(at, loaded.shape().vocab);
      answer.logits_digest = digest_of(answer.logits_digest, std::as_bytes(row));
    }
  };
  answer.tokens = engine::generate(loaded, state, request, callbacks, never).generated;
  return answer;
}

model::LoadOptions base_options() {
  return {.threads = 1, .memory_bytes = 1u << 30, .context = 24, .logits_of_every_row = true};
}

/// Of real files without faults.
const Answer& expected() {
  static const Answer answer = [] {
    LoadedModel loaded(checkpoint().folder(), base_options());
    const std::unique_ptr<model::SequenceState> state = loaded.make_state();
    return ask(loaded, *state);
  }();
  return answer;
}

/// The program in the scenario of a seed. At its end the streamer checks that no slot is in use,
/// the drives that nothing is in flight.
class Simulation {
 public:
  explicit Simulation(const Scenario& scenario) : scenario_(scenario) {
    const std::filesystem::path& folder = layouts().model(scenario.layout);
    model::LoadOptions options = base_options();
    options.volumes = layouts().volumes(scenario.layout);
    options.prefill_rows = scenario_.prefill_rows;
    options.reading = {.make_drives = [this](auto files) { return make_drives(files); },
                       .piece_bytes = scenario_.piece_bytes,
                       .bytes_in_flight = scenario_.bytes_in_flight};
    const stream::MemoryPlan plan = model::inspect_model(folder, options).plan;
    options.memory_bytes =
        plan.minimum_bytes +
        static_cast<uint64_t>(scenario_.memory_share *
                              static_cast<double>(plan.total_bytes - plan.minimum_bytes));
    loaded_.emplace(folder, options);
    computing_.emplace(*drives_, scenario_.computing_max, scenario_.drives.seed);
    loaded_->model().set_observer(&*computing_);
    state_ = loaded_->make_state();
  }

  [[nodiscard]] Answer ask() { return simulation::ask(*loaded_, *state_); }
  [[nodiscard]] SimDrives& drives() { return *drives_; }
  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  /// By file.
  [[nodiscard]] const std::vector<size_t>& devices() const { return devices_; }
  [[nodiscard]] stream::StreamerCounters counters() { return loaded_->streamer().counters(); }

 private:
  std::unique_ptr<SimDrives> make_drives(std::span<const format::StoredFile> files) {
    devices_ = devices_of(scenario_, files);
    std::vector<io::SimFile> simulated;
    for (size_t f = 0; f < files.size(); ++f) {
      simulated.push_back({.path = files[f].path.string(), .device = devices_[f]});
    }
    auto drives = std::make_unique<SimDrives>(simulated, scenario_.drives);
    for (const io::SimOutage& outage : scenario_.outages) drives->add_outage(outage);
    drives_ = drives.get();
    return drives;
  }

  const Scenario scenario_;
  std::vector<size_t> devices_;
  SimDrives* drives_ = nullptr;
  std::optional<LoadedModel> loaded_;
  std::optional<Computing> computing_;
  std::unique_ptr<model::SequenceState> state_;
};

void expect_bounded_waiting(Simulation& simulation) {
  const Nanos longest =
      longest_time(simulation.drives().history(), simulation.scenario(), simulation.devices());
  EXPECT_LE(simulation.counters().waiting_ns, static_cast<uint64_t>(longest.count()));
}

TEST(Simulation, FaultsThatASecondAttemptOvercomesChangeNothing) {
  uint64_t failed = 0, scenarios = 0;
  for_each_seed([&](uint64_t seed) {
    Simulation simulation(random_scenario(seed));
    EXPECT_EQ(simulation.ask(), expected());
    EXPECT_EQ(simulation.ask(), expected()) << "with segments in memory";
    expect_bounded_waiting(simulation);
    failed += simulation.counters().retries;
    ++scenarios;
  });
  EXPECT_TRUE(failed > scenarios || scenarios < 100) << "too few faults to prove anything";
}

TEST(Simulation, NoFaultOfOneVolumeChangesAnythingWhileAnotherHasACopy) {
  std::map<SimOutcome, uint64_t> outcomes;
  uint64_t rescues = 0, scenarios = 0;
  for_each_seed([&](uint64_t seed) {
    Simulation simulation(random_survivable_scenario(seed));
    EXPECT_EQ(simulation.ask(), expected());
    EXPECT_EQ(simulation.ask(), expected()) << "with segments in memory";
    expect_bounded_waiting(simulation);
    for (const SimRead& read : simulation.drives().history()) ++outcomes[read.outcome];
    rescues += simulation.counters().rescues;
    ++scenarios;
  });
  if (scenarios < 100) return;
  for (const SimOutcome outcome : {SimOutcome::kError, SimOutcome::kShort, SimOutcome::kFlipped,
                                   SimOutcome::kMisdirected, SimOutcome::kDead}) {
    EXPECT_GT(outcomes[outcome], scenarios) << "too few to prove anything";
  }
  EXPECT_GT(rescues, 0u);
}

TEST(Simulation, ASeedRepeatsItsHistory) {
  for_each_seed([&](uint64_t seed) {
    const Scenario scenario =
        seed % 2 == 0 ? random_scenario(seed) : random_survivable_scenario(seed);
    Simulation first(scenario), again(scenario);
    EXPECT_EQ(first.ask(), again.ask());
    EXPECT_EQ(first.drives().history_digest(), again.drives().history_digest());
  });
}

/// A fault that no attempt overcomes, and what the error has to name.
struct Loss {
  std::optional<io::SimFault> fault;
  std::optional<io::SimOutage> outage;
  std::vector<std::string> paths, names;  // One of each.
};

/// Takes away what one of the reads of a history brought, or the device that it came from.
Loss random_loss(uint64_t seed, Simulation& good) {
  std::mt19937_64 random(seed);
  const std::vector<SimRead> history = good.drives().history();
  const SimRead& read = history[random() % history.size()];
  const size_t device = good.devices()[read.file.value];
  Loss loss;
  loss.names = {"tensor ", "expert "};
  if (random() % 3 == 0) {
    loss.outage = {.device = device, .from = read.submitted};
    for (uint16_t f = 0; f < good.devices().size(); ++f) {
      if (good.devices()[f] == device) loss.paths.push_back(good.drives().path({f}));
    }
    return loss;
  }
  const bool in_place = good.scenario().layout == Layout::kInPlace;
  constexpr std::array kOutcomes = {SimOutcome::kError, SimOutcome::kShort, SimOutcome::kFlipped,
                                    SimOutcome::kMisdirected};
  const uint64_t block = read.offset + random() % (read.bytes / io::kBlockBytes) * io::kBlockBytes;
  loss.fault = {.file = read.file,
                .offset = in_place ? block : read.offset,
                .outcome = kOutcomes[random() % (in_place ? 2 : kOutcomes.size())],
                .times = io::SimFault::kForGood};
  loss.paths = {good.drives().path(read.file)};
  // The model and its shards in place: a file is a shard.
  if (in_place) loss.names = checkpoint().names_at({read.file.value}, block);
  return loss;
}

testing::AssertionResult contains_one(const std::string& text,
                                      const std::vector<std::string>& parts) {
  const bool found = std::ranges::any_of(
      parts, [&](const std::string& part) { return text.find(part) != std::string::npos; });
  if (found) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << text << " names none of " << fmt::format("{}", fmt::join(parts, ", "));
}

/// The same with the weights in packs, of which each has something that no other has.
Scenario on_stripes(Scenario scenario) {
  scenario.layout = Layout::kStripes;
  constexpr size_t kVolumes = 3;
  scenario.drives.devices.resize(kVolumes, scenario.drives.devices.front());
  return scenario;
}

TEST(Simulation, ALossEndsItsRequestAndNoOther) {
  for_each_seed([&](uint64_t seed) {
    Scenario scenario = random_scenario(seed);
    if (seed % 2 == 0) scenario = on_stripes(scenario);
    Loss loss;
    {
      Simulation good(scenario);
      EXPECT_EQ(good.ask(), expected());
      loss = random_loss(seed, good);
    }
    Simulation simulation(scenario);
    if (loss.fault) simulation.drives().add_fault(*loss.fault);
    if (loss.outage) simulation.drives().add_outage(*loss.outage);
    try {
      (void)simulation.ask();
      ADD_FAILURE() << "the loss was not noticed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_TRUE(contains_one(error.what(), loss.paths));
      EXPECT_TRUE(contains_one(error.what(), loss.names));
    }
    simulation.drives().repair();
    EXPECT_EQ(simulation.ask(), expected()) << "after the fault had gone";
    EXPECT_EQ(simulation.ask(), expected());
  });
}

}  // namespace
}  // namespace sluice::simulation
