#include "base/error.h"
#include "base/thread_pool.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/simulate_options.h"
#include "cli/simulate_report.h"
#include "cli/terminal.h"
#include "format/output_file.h"
#include "simulator/simulation.h"
#include "stream/system_memory.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

using simulator::SimulatedDrive;
using simulator::SimulationOptions;

// Of Kimi K3 as released.
constexpr uint32_t kLayers = 93, kExperts = 896;

class SimulateCommand : public Command {
 public:
  std::string name() const override { return "simulate"; }
  std::string summary() const override {
    return "Predicts speed on drives, memory and a processor that need not be there";
  }
  std::string details() const override {
    return "Runs the program itself in virtual time: scheduler, cache, hints, memory plan and the "
           "pass are those of `sluice run`; drives and arithmetic only let time pass. Without "
           "MODEL "
           "it is Kimi K3 as released, of which nothing needs to be here. `--what-if` adds a drive "
           "and shows both.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  void check() const;
  [[nodiscard]] SimulationOptions base_options() const;
  [[nodiscard]] std::vector<SimulatedCase> make_cases() const;
  void choose_computing(const model::ModelShape& shape, SimulationOptions& options);
  void simulate_all(const model::ModelShape& shape, SimulationOptions options,
                    std::vector<SimulatedCase>& cases);
  [[nodiscard]] stream::RouteTable make_routes(const model::ModelShape& shape, uint64_t seed) const;

  std::string model_;
  std::vector<std::string> volumes_, drives_, what_ifs_, route_files_;
  uint32_t layers_ = kLayers, experts_ = kExperts;
  uint64_t memory_bytes_ = 0;
  uint32_t threads_ = 0, context_ = 0, prefill_rows_ = 0;
  uint32_t prompt_tokens_ = 16, tokens_ = 32, seeds_ = 3, survive_ = 0;
  std::string hints_ = "on", computing_;
  double recall_ = 0.65, spine_bytes_per_weight_ = 2;
  bool as_stored_ = false, compare_ = false, json_ = false, quiet_ = false;
  std::string svg_file_;
  SimulatedSetting setting_;
};

void SimulateCommand::declare(OptionList& options) {
  options.group("Model");
  options.optional_argument({"MODEL", "", "folder of a checkpoint, of which headers suffice"},
                            model_, Completion::kFolder);
  options.describe_default("Kimi K3 as released, which need not be here");
  options.strings(
      {"volume", "DIR", "another folder with packs of the model or copies of its shards"}, volumes_,
      Completion::kFolder);
  options.number({"layers", "N", "of K3 in another depth"}, layers_, {2, 1000});
  options.number({"experts", "N", "of K3 with another number of experts in a layer"}, experts_,
                 {16, 8192});
  options.group("Machine");
  options.strings({"drive", "NAME=RATE[,NAME=VALUE]",
                   "a drive that reads RATE GB/s; latency=80us room=2TB queue=32 jitter=0.1 "
                   "stall=0.001:50ms; may be given several times"},
                  drives_);
  options.strings({"what-if", "NAME=RATE[,NAME=VALUE]",
                   "a drive to add to those, for a second line of the table"},
                  what_ifs_);
  options.flag({"compare", "", "show the first drive alone, the first two, and so on"}, compare_);
  options.bytes({"memory", "SIZE", "budget of the whole program"}, memory_bytes_);
  options.describe_default("what this machine or its container has free");
  options.string({"computing", "bf16=RATE,mxfp4=RATE[,NAME=VALUE]",
                  "what the processor computes: bytes of weights in GB/s"},
                 computing_);
  options.describe_default("measured on this machine, in seconds");
  options.number({"threads", "N", "threads that compute"}, threads_, {1, 1024});
  options.describe_default("every processor this process may use");
  options.group("Placement");
  options.flag(
      {"as-stored", "", "read MODEL's volumes as they are, each from the drive of its name"},
      as_stored_);
  options.number({"survive", "N", "place copies so that any N drives may be lost"}, survive_,
                 {0, 7});
  options.group("Request");
  options.number({"prompt-tokens", "N", "length of the prompt"}, prompt_tokens_, {1, 1u << 20});
  options.number({"tokens", "N", "length of the answer"}, tokens_, {1, 1u << 20});
  options.number({"context", "N", "tokens of prompt and answer together"}, context_, {1, 1u << 20});
  options.describe_default("what --prompt-tokens and --tokens need");
  options.number({"prefill-chunk", "N", "tokens of the prompt that go through each layer together"},
                 prefill_rows_, {1, 1u << 16});
  options.describe_default("as many as the memory allows, up to 512");
  options.strings(
      {"routes", "FILE",
       "which experts the tokens use: a file of `sluice eval --routes`; repeats when it "
       "is short; may be given several times"},
      route_files_, Completion::kFile);
  options.choice({"hints", "WHEN", "whether idle drives read what the next layer may want"}, hints_,
                 {"on", "off"});
  options.number({"recall", "SHARE", "of a layer's experts, those that the hints' guess finds"},
                 recall_, {0.0, 1.0});
  options.number({"seeds", "N", "runs, which differ in what chance decides"}, seeds_, {1, 1000});
  options.number({"spine-bytes-per-weight", "N",
                  "as if the spine took so many bytes a weight; the program cannot do that"},
                 spine_bytes_per_weight_, {0.25, 2.0});
  options.group("Output");
  options.flag({"json", "", "print one JSON object"}, json_);
  options.string({"svg", "FILE", "write a chart"}, svg_file_, Completion::kFile);
  options.flag({"quiet", "", "show no progress"}, quiet_);
}

void SimulateCommand::check() const {
  if (drives_.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "--drive is missing; name each with its rate, for example --drive inner=7.1GB/s "
                "(`sluice drives bench` measures it)");
  }
  if (compare_ && !what_ifs_.empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "--compare and --what-if are two ways to vary the drives; "
                "give one");
  }
  if (as_stored_ && (model_.empty() || compare_ || !what_ifs_.empty() || survive_ > 0)) {
    throw Error(ErrorCode::kInvalidInput,
                "--as-stored reads the volumes of a MODEL as they lie; it goes without --compare, "
                "--what-if and --survive");
  }
  if (!model_.empty() && (layers_ != kLayers || experts_ != kExperts)) {
    throw Error(ErrorCode::kInvalidInput,
                "--layers and --experts are for K3; MODEL has a shape of its own");
  }
  if (!svg_file_.empty()) check_writable("--svg", svg_file_);
}

std::vector<SimulatedCase> SimulateCommand::make_cases() const {
  std::vector<SimulatedDrive> drives;
  const auto add = [&](const std::string& text, const char* option) {
    SimulatedDrive drive = parse_drive(text, option);
    if (std::ranges::find(drives, drive.name, &SimulatedDrive::name) != drives.end()) {
      throw Error(ErrorCode::kInvalidInput, "{}: there are two drives called {}", option,
                  drive.name);
    }
    drives.push_back(std::move(drive));
  };
  const auto name = [&] {
    std::vector<std::string> names;
    for (const SimulatedDrive& drive : drives) names.push_back(drive.name);
    return fmt::format("{}", fmt::join(names, " + "));
  };
  std::vector<SimulatedCase> cases;
  for (const std::string& text : drives_) {
    add(text, "--drive");
    if (compare_ || drives.size() == drives_.size()) cases.push_back({name(), drives, {}});
  }
  for (const std::string& text : what_ifs_) {
    add(text, "--what-if");
    cases.push_back({name(), drives, {}});
  }
  return cases;
}

SimulationOptions SimulateCommand::base_options() const {
  SimulationOptions options{.model = model_, .drives = {}};
  options.volumes.assign(volumes_.begin(), volumes_.end());
  options.as_stored = as_stored_;
  options.survive = survive_;
  options.memory_bytes = memory_bytes_ != 0 ? memory_bytes_ : stream::measure_memory_budget();
  options.threads = threads_ != 0 ? threads_ : default_thread_count();
  options.prefill_rows = prefill_rows_;
  options.hints = hints_ == "on";
  options.spine_bytes_per_weight = spine_bytes_per_weight_;
  options.context = context_;
  options.prompt_tokens = prompt_tokens_;
  options.tokens = tokens_;
  options.recall = recall_;
  return options;
}

void SimulateCommand::choose_computing(const model::ModelShape& shape, SimulationOptions& options) {
  if (!computing_.empty()) {
    options.computing = parse_computing(computing_, "--computing");
    setting_.computing_source = "as given";
  } else {
    options.computing =
        simulator::measure_computing(shape, {.threads = options.threads, .target = {}});
    setting_.computing_source = fmt::format("measured here with {} threads", options.threads);
  }
  setting_.computing = options.computing;
}

stream::RouteTable SimulateCommand::make_routes(const model::ModelShape& shape,
                                                uint64_t seed) const {
  if (!route_files_.empty()) return stream::read_route_traces(route_files_);
  stream::RouteProcess process({.layers = shape.layers - shape.dense_layers,
                                .experts = shape.experts,
                                .top_k = shape.experts_per_token},
                               seed);
  process.converse(prompt_tokens_ + tokens_);
  return process.routes();
}

void SimulateCommand::simulate_all(const model::ModelShape& shape, SimulationOptions options,
                                   std::vector<SimulatedCase>& cases) {
  const uint64_t tokens_of_run = uint64_t{prompt_tokens_} + tokens_;
  const uint64_t total = cases.size() * seeds_ * tokens_of_run;
  std::atomic<uint64_t> done{0}, runs{0};
  const Progress progress({[&] {
                             return fmt::format("run {} of {}, {} of {} tokens", runs + 1,
                                                cases.size() * seeds_, done - runs * tokens_of_run,
                                                tokens_of_run);
                           },
                           [&] { return static_cast<double>(done) / static_cast<double>(total); }},
                          quiet_);
  options.on_progress = [&](uint32_t tokens) { done = runs * tokens_of_run + tokens; };
  for (uint64_t seed = 1; seed <= seeds_; ++seed) {
    const stream::RouteTable routes = make_routes(shape, seed);
    options.routes = &routes;
    options.seed = seed;
    if (!route_files_.empty()) options.uses = stream::uses_of_token(routes);
    for (SimulatedCase& of : cases) {
      options.drives = of.drives;
      of.results.push_back(simulator::simulate(options));
      done = ++runs * tokens_of_run;
    }
    setting_.routes = route_files_.empty()
                          ? std::string("drawn as published of Kimi K3, one conversation")
                          : fmt::format("{}", fmt::join(route_files_, ", "));
  }
}

int SimulateCommand::run() {
  check();
  std::vector<SimulatedCase> cases = make_cases();
  SimulationOptions options = base_options();
  const InterruptGuard interrupt;  // So that the checkpoint without weights is removed again.
  options.cancel = &interrupt.flag();
  std::optional<simulator::HollowCheckpoint> hollow;
  if (model_.empty()) options.model = hollow.emplace(layers_, experts_).folder();
  const model::ModelShape shape = simulator::read_shape(options.model);
  setting_.model =
      model_.empty() ? fmt::format("Kimi K3 ({} layers of {} experts)", layers_, experts_) : model_;
  setting_.memory_bytes = options.memory_bytes;
  setting_.prompt_tokens = prompt_tokens_;
  setting_.tokens = tokens_;
  if (spine_bytes_per_weight_ != 2) {
    setting_.assumptions.push_back(
        fmt::format("Hypothetical: the spine is computed and kept with {:g} bytes a weight, which "
                    "the program cannot do and which would not be exact; it is read as released.",
                    spine_bytes_per_weight_));
  }
  choose_computing(shape, options);
  simulate_all(shape, std::move(options), cases);
  write_output(json_ ? simulation_json(setting_, cases) : simulation_text(setting_, cases));
  if (!svg_file_.empty()) {
    format::OutputFile file(svg_file_);
    file.write(simulation_svg(setting_, cases));
    file.commit();
  }
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_simulate_command() { return std::make_unique<SimulateCommand>(); }

}  // namespace sluice::cli
