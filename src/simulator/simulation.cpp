#include "simulator/simulation.h"

#include "base/check.h"
#include "base/error.h"
#include "engine/generate.h"
#include "format/checkpoint.h"
#include "format/synthetic_checkpoint.h"
#include "model/loaded_model.h"
#include "simulator/simulated_storage.h"
#include "simulator/timed_backend.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <unistd.h>
#include <utility>

namespace sluice::simulator {
namespace {

// Where the stream restarts, the next layer's router sees least of what it will: a share of the
// usual recall.
constexpr double kRecallAtBlocks = 0.45;

void check_routes(const SimulationOptions& options, const model::ModelShape& shape) {
  const stream::RouteTable& routes = *options.routes;
  if (routes.layers == shape.layers - shape.dense_layers && routes.experts == shape.experts &&
      routes.top_k == shape.experts_per_token) {
    return;
  }
  throw Error(ErrorCode::kInvalidInput,
              "the routes are of a model with {} layers of {} experts, {} of them for a token, but "
              "{} has {} of {}, {} of them; record routes of this model",
              routes.layers, routes.experts, routes.top_k, options.model.string(),
              shape.layers - shape.dense_layers, shape.experts, shape.experts_per_token);
}

std::vector<double> recall_by_layer(const model::ModelShape& shape, double usual) {
  std::vector<double> recall;
  for (uint32_t l = shape.dense_layers; l < shape.layers; ++l) {
    recall.push_back(l % shape.attn_residual_block == 0 ? kRecallAtBlocks * usual : usual);
  }
  return recall;
}

/// A run of the program in virtual time.
class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options) : options_(options), storage_(options_) {}

  SimulationResult run() {
    model::LoadOptions loading = load_options();
    const uint64_t spared = spared_bytes(loading);
    loading.memory_bytes += spared;
    model::LoadedModel loaded(options_.model, loading);
    if (spared > 0 && loaded.plan().spine_streamed_bytes > 0) {
      throw Error(ErrorCode::kInvalidInput,
                  "a smaller spine can be assumed only where all of it stays in memory; give "
                  "--memory {} or more",
                  stream::human_bytes(options_.memory_bytes + loaded.plan().spine_streamed_bytes));
    }
    SimulationResult result{.plan = loaded.plan(),
                            .memory_table = loaded.memory_table(),
                            .stored_bytes = storage_.stored_bytes()};
    for (const format::Segment& segment : loaded.weights().segments) {
      (segment.kind == format::SegmentKind::kSpine ? result.spine_bytes : result.expert_bytes) +=
          format::payload_bytes(segment);
    }
    result.stats = generate(loaded);
    for (size_t d = 0; d < options_.drives.size(); ++d) {
      result.stats.drive_names[d] = options_.drives[d].name;
    }
    if (const model::ExpertGuess* const guess = loaded.model().guess()) {
      for (const model::LayerGuesses& layer : guess->statistics()) result.guesses += layer.total();
    }
    result.reads_digest = storage_.drives().history_digest();
    return result;
  }

 private:
  // What a smaller spine would leave to experts.
  [[nodiscard]] uint64_t spared_bytes(const model::LoadOptions& loading) const {
    if (options_.spine_bytes_per_weight == 2) return 0;
    const uint64_t spine = model::inspect_model(options_.model, loading).spine_bytes;
    return static_cast<uint64_t>((1 - options_.spine_bytes_per_weight / 2) *
                                 static_cast<double>(spine));
  }

  model::LoadOptions load_options() {
    model::LoadOptions loading{.volumes = options_.volumes,
                               .threads = options_.threads,
                               .memory_bytes = options_.memory_bytes,
                               .prefill_rows = options_.prefill_rows,
                               .hints = options_.hints};
    loading.context =
        options_.context != 0 ? options_.context : options_.prompt_tokens + options_.tokens + 1;
    loading.reading.make_drives = [this](std::span<const format::StoredFile> files) {
      return storage_.make_drives(files);
    };
    if (!options_.as_stored) {
      loading.reading.place = [this](const model::WeightMap& weights,
                                     format::PlacementParts& parts) {
        storage_.place(weights, parts);
      };
    }
    loading.make_backend = [this](const model::ModelShape& shape,
                                  stream::WeightStreamer& streamer) {
      return make_backend(shape, streamer);
    };
    return loading;
  }

  std::unique_ptr<backend::Backend> make_backend(const model::ModelShape& shape,
                                                 stream::WeightStreamer& streamer) {
    check_routes(options_, shape);
    TimedBackendOptions timed{.rates = options_.computing,
                              .routes = options_.routes,
                              .recall = recall_by_layer(shape, options_.recall),
                              .seed = options_.seed};
    timed.rates.bf16 *= 2 / options_.spine_bytes_per_weight;
    timed.pass_time = [this, &streamer](Nanos time) {
      streamer.run_until(storage_.drives().now() + time);
    };
    return std::make_unique<TimedBackend>(std::move(timed));
  }

  engine::GenerationStats generate(model::LoadedModel& loaded) {
    const std::unique_ptr<model::SequenceState> state = loaded.make_state();
    engine::GenerateRequest request{.prompt = std::vector<TokenId>(options_.prompt_tokens),
                                    .max_new = options_.tokens + 1};
    engine::GenerateCallbacks callbacks;
    uint32_t done = 0;
    if (options_.on_progress) {
      callbacks.on_prompt_progress = [&](uint32_t rows, uint32_t) { options_.on_progress(rows); };
      callbacks.on_token = [&](TokenId) {
        options_.on_progress(options_.prompt_tokens + done++);
        return true;
      };
    }
    const std::atomic<bool> never{false};
    const std::atomic<bool>& cancel = options_.cancel != nullptr ? *options_.cancel : never;
    engine::GenerateResult result =
        engine::generate(loaded, *state, std::move(request), callbacks, cancel);
    if (result.reason == engine::FinishReason::kCancelled) {
      throw Error(ErrorCode::kCancelled, "the simulation was stopped");
    }
    return std::move(result.stats);
  }

  const SimulationOptions& options_;
  SimulatedStorage storage_;
};

}  // namespace

SimulationResult simulate(const SimulationOptions& options) {
  SLUICE_CHECK(options.routes != nullptr && !options.drives.empty());
  if (!options.as_stored && options.survive >= options.drives.size()) {
    throw Error(ErrorCode::kInvalidInput,
                "to survive the loss of {} drives takes more than {}; add drives (--drive), or "
                "lower --survive",
                options.survive, options.drives.size());
  }
  return Simulation(options).run();
}

HollowCheckpoint::HollowCheckpoint(uint32_t layers, uint32_t experts)
    : folder_(std::filesystem::temp_directory_path() /
              fmt::format("sluice-simulate-{}", ::getpid())) {
  format::SyntheticShape shape = format::SyntheticShape::k3();
  shape.set_layers(layers);
  shape.set_experts(experts);
  format::write_synthetic_checkpoint(folder_, shape, {.overwrite = true, .headers_only = true});
}

HollowCheckpoint::~HollowCheckpoint() {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

model::ModelShape read_shape(const std::filesystem::path& folder) {
  const format::Checkpoint checkpoint(folder, {});
  return model::parse_shape(checkpoint.config_json(), (folder / "config.json").string());
}

}  // namespace sluice::simulator
