#include "model/loaded_model.h"

#include "base/error.h"
#include "base/thread_pool.h"
#include "io/file_limit.h"
#include "stream/system_memory.h"

#include <algorithm>
#include <set>

namespace sluice::model {
namespace {

// Panels of the spine that are read ahead of their use: at SSD speed a few of an expert's size
// cover the time that a matrix product takes, and each costs a slot.
constexpr uint64_t kLookaheadPanels = 4;
// Besides those of the drives: the ones that the embedding table is read from, states, results.
constexpr uint64_t kOtherFiles = 64;
// The program itself with its libraries, stacks and buffers.
constexpr uint64_t kProgramBytes = 24u << 20;
// What the tables of a checkpoint hold for each tensor and each segment.
constexpr uint64_t kTensorBytes = 64, kSegmentBytes = 208;

uint32_t columns_max(const ModelShape& s) {
  return std::max({s.hidden, s.dense_hidden, s.kda_width(), s.mla_width(), s.q_lora,
                   s.kv_lora + s.rope, s.latent, s.expert_hidden, s.shared_hidden, s.kda_head_dim});
}

backend::CpuOptions cpu_options(const ModelShape& shape, const LoadOptions& options) {
  return {.threads = options.threads,
          .target = options.target,
          .columns_max = columns_max(shape),
          .context_max = options.context};
}

uint32_t element_bytes(BackendKind kind) {
  return kind == BackendKind::kCpu ? sizeof(float) : sizeof(double);
}

ModelOptions model_options(const LoadOptions& options) {
  return {
      .rows_max = options.prefill_rows,
      .logits_rows_max = options.logits_of_every_row ? options.prefill_rows : options.logits_rows,
      .hints = options.hints,
      .hint_limits = options.reading.hint_limits};
}

/// What a plan is made for.
struct Subject {
  const format::Checkpoint& checkpoint;
  const ModelShape& shape;
  const WeightMap& weights;
  const format::Placement& placement;
};

stream::MemoryNeeds memory_needs(const Subject& subject, const LoadOptions& options) {
  const auto& [checkpoint, shape, weights, placement] = subject;
  const uint32_t element = element_bytes(options.backend);
  const ModelOptions rows = model_options(options);
  stream::MemoryNeeds needs;
  needs.budget_bytes = options.memory_bytes;
  needs.fixed_bytes = kProgramBytes + checkpoint.tensor_count() * kTensorBytes +
                      weights.segments.size() * kSegmentBytes + placement.table_bytes();
  // The map keeps the small tensors as the file has them, the backend in its own precision.
  needs.small_weight_bytes = weights.small_floats() * (sizeof(float) + element);
  needs.state_bytes = options.sequences * SequenceState::bytes(shape, element, options.context);
  needs.state_bytes += options.saved_points * SequenceState::point_bytes(shape, element);
  needs.scratch_bytes = Model::scratch_bytes(shape, element, rows) +
                        uint64_t{rows.logits_rows_max} * shape.vocab * sizeof(float);
  if (options.backend == BackendKind::kCpu) {
    needs.scratch_bytes += backend::cpu_scratch_bytes(cpu_options(shape, options));
  }
  if (options.output_bytes) needs.output_bytes = options.output_bytes(shape);
  needs.slot_record_bytes = stream::WeightStreamer::record_bytes(placement);
  needs.expert_bytes = weights.segment_bytes_max(format::SegmentKind::kExpert);
  needs.experts_per_token = shape.experts_per_token;
  needs.expert_count = weights.expert_count();
  for (const SegmentId panel : weights.pass_order) {
    needs.panel_bytes.push_back(weights.segments[panel.value].memory_bytes);
  }
  needs.lookahead_panels = kLookaheadPanels;
  return needs;
}

/// A plan and the options that it was made for.
struct Planned {
  LoadOptions options;
  stream::MemoryNeeds needs;
  stream::MemoryPlan plan;
};

// The most prefill rows whose activations take an eighth of the budget; a long chunk reads each
// expert once for many rows, but beyond that the memory serves better as expert slots.
Planned make_plan(const Subject& subject, LoadOptions options) {
  const ModelShape& shape = subject.shape;
  if (options.context == LoadOptions{}.context) {
    options.context = std::min(options.context, shape.context_max);
  }
  if (options.context > shape.context_max) {
    throw Error(ErrorCode::kInvalidInput,
                "a context of {} tokens is longer than this model's {} (max_position_embeddings); "
                "shorten the prompt, ask for fewer tokens or lower --context",
                options.context, shape.context_max);
  }
  if (options.threads == 0) options.threads = default_thread_count();
  if (options.memory_bytes == 0) options.memory_bytes = stream::measure_memory_budget();
  const auto planned = [&](uint32_t rows) {
    Planned result{options, {}, {}};
    result.options.prefill_rows = rows;
    result.needs = memory_needs(subject, result.options);
    result.plan = stream::plan_memory(result.needs);
    return result;
  };
  if (options.prefill_rows != 0) return planned(options.prefill_rows);
  for (uint32_t rows = std::min(kPrefillRowsMax, options.context); rows > 1; rows /= 2) {
    Planned result = planned(rows);
    if (result.plan.fits && result.needs.scratch_bytes <= options.memory_bytes / 8) return result;
  }
  return planned(1);
}

ModelShape read_shape(const format::Checkpoint& checkpoint, const LoadOptions& options) {
  ModelShape shape =
      parse_shape(checkpoint.config_json(), (checkpoint.folder() / "config.json").string());
  shape.mla_norm_epsilon = options.mla_norm_epsilon;
  return shape;
}

format::Placement make_placement(format::Checkpoint& checkpoint, const WeightMap& weights,
                                 const ReadingOptions& reading) {
  format::PlacementParts parts = checkpoint.storage().take_parts(weights.segments);
  parts.piece_bytes = reading.piece_bytes;
  parts.name = [&weights](SegmentId id) { return weights.name(id); };
  if (reading.place) reading.place(weights, parts);
  return format::Placement(std::move(parts));
}

/// Why the model cannot run from the files that are here; empty when it can.
std::string trouble_of(const format::Checkpoint& checkpoint, const WeightMap& weights,
                       const format::Placement& placement) {
  std::string lost;
  if (const std::optional<SegmentId> hole = placement.first_hole()) {
    lost = weights.name(*hole);
  } else if (!checkpoint.storage().has_all(weights.embedding->shard, weights.embedding->offset,
                                           weights.embedding->bytes)) {
    lost = "the embedding table";
  }
  if (lost.empty()) return lost;
  return fmt::format("{}: {} is in no file that is here{}", checkpoint.folder().string(), lost,
                     checkpoint.storage().missing_text());
}

io::OpenedDrives open_drives(const format::Storage& storage, const LoadOptions& options) {
  if (options.reading.make_drives) {
    return {.drives = options.reading.make_drives(storage.files()), .no_uring = {}};
  }
  std::vector<std::string> paths;
  for (const format::StoredFile& file : storage.files()) paths.push_back(file.path.string());
  io::allow_open_files(paths.size() + kOtherFiles);
  return io::open_drives(paths, {.method = options.read_method, .direct = options.direct_io});
}

stream::StreamerOptions streamer_options(const ModelShape& shape, const WeightMap& weights,
                                         const stream::MemoryPlan& plan,
                                         const ReadingOptions& reading) {
  stream::StreamerOptions options;
  options.own_thread = !reading.make_drives;
  options.bytes_in_flight = reading.bytes_in_flight;
  options.on_event = reading.on_event;
  options.slots = plan.slots;
  options.expert_layers = shape.layers - shape.dense_layers;
  options.spine_slots = plan.spine_slots;
  options.slot_bytes = plan.slot_bytes;
  options.name = [&weights](SegmentId id) { return weights.name(id); };
  for (size_t i = 0; i < plan.pinned.size(); ++i) {
    if (plan.pinned[i]) options.pinned.push_back(weights.pass_order[i]);
  }
  return options;
}

std::unique_ptr<backend::Backend> make_backend(const ModelShape& shape, const LoadOptions& options,
                                               stream::WeightStreamer& streamer) {
  if (options.make_backend) return options.make_backend(shape, streamer);
  return options.backend == BackendKind::kCpu
             ? backend::make_cpu_backend(cpu_options(shape, options))
             : backend::make_reference_backend();
}

}  // namespace

struct LoadedModel::Impl {
  Impl(const std::filesystem::path& folder, const LoadOptions& wanted)
      : checkpoint(folder, wanted.volumes),
        shape(read_shape(checkpoint, wanted)),
        weights(checkpoint, shape, panel_bytes_max(shape)),
        fingerprint(fingerprint_of(checkpoint, weights)),
        placement(make_placement(checkpoint, weights, wanted.reading)),
        planned(make_plan({checkpoint, shape, weights, placement}, wanted)) {
    const std::string trouble = trouble_of(checkpoint, weights, placement);
    if (!trouble.empty()) throw Error(ErrorCode::kNotFound, trouble);
    if (!planned.plan.fits) {
      throw Error(
          ErrorCode::kOutOfMemory,
          "{}: {} of memory do not suffice; the smallest budget that works is {} (--memory {})\n{}",
          folder.string(), stream::human_bytes(planned.options.memory_bytes),
          stream::human_bytes(planned.plan.minimum_bytes), planned.plan.minimum_bytes,
          stream::memory_table(planned.needs, planned.plan));
    }
    embedding = std::make_unique<EmbeddingTable>(checkpoint, *weights.embedding);
    opened = open_drives(checkpoint.storage(), planned.options);
    streamer = std::make_unique<stream::WeightStreamer>(
        placement, *opened.drives,
        streamer_options(shape, weights, planned.plan, planned.options.reading));
    spine = std::make_unique<stream::SpineReader>(*streamer, weights.pass_order,
                                                  planned.plan.pinned, kLookaheadPanels);
    backend = make_backend(shape, planned.options, *streamer);
    ModelOptions passes = model_options(planned.options);
    passes.check_scales = !opened.drives->hollow();
    passes.hints &= planned.plan.expert_slots < weights.expert_count();  // Else all will be there.
    model =
        std::make_unique<Model>(shape, weights, *embedding, *streamer, *spine, *backend, passes);
  }

  format::Checkpoint checkpoint;
  const ModelShape shape;
  const WeightMap weights;
  const uint64_t fingerprint;
  const format::Placement placement;
  const Planned planned;
  std::unique_ptr<EmbeddingTable> embedding;
  io::OpenedDrives opened;
  std::unique_ptr<stream::WeightStreamer> streamer;
  std::unique_ptr<stream::SpineReader> spine;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<Model> model;
};

LoadedModel::LoadedModel(const std::filesystem::path& folder, const LoadOptions& options)
    : impl_(std::make_unique<Impl>(folder, options)) {}
LoadedModel::~LoadedModel() = default;
LoadedModel::LoadedModel(LoadedModel&&) noexcept = default;

Model& LoadedModel::model() { return *impl_->model; }
const ModelShape& LoadedModel::shape() const { return impl_->shape; }
const format::Checkpoint& LoadedModel::checkpoint() const { return impl_->checkpoint; }
stream::WeightStreamer& LoadedModel::streamer() { return *impl_->streamer; }
const WeightMap& LoadedModel::weights() const { return impl_->weights; }
const io::DriveArray& LoadedModel::drives() const { return *impl_->opened.drives; }
const stream::MemoryPlan& LoadedModel::plan() const { return impl_->planned.plan; }
const LoadOptions& LoadedModel::options() const { return impl_->planned.options; }
std::vector<stream::MemoryUse> LoadedModel::memory_uses() const {
  return stream::memory_uses(impl_->planned.needs, impl_->planned.plan);
}
std::string LoadedModel::memory_table() const {
  return fmt::format("{}Weights are read by {}.\n",
                     stream::memory_table(impl_->planned.needs, impl_->planned.plan),
                     io::describe_method(impl_->opened));
}
std::unique_ptr<SequenceState> LoadedModel::make_state() {
  return std::make_unique<SequenceState>(impl_->shape, *impl_->backend,
                                         impl_->planned.options.context, impl_->fingerprint);
}
uint64_t LoadedModel::fingerprint() const { return impl_->fingerprint; }
std::span<const std::string> LoadedModel::notes() const {
  return impl_->checkpoint.storage().notes();
}

std::vector<std::string> LoadedModel::drive_names() const {
  std::vector<std::set<std::string>> folders(drives().drive_count());
  for (uint16_t f = 0; f < drives().file_count(); ++f) {
    const std::filesystem::path folder = std::filesystem::path(drives().path({f})).parent_path();
    folders[drives().drive({f}).value].insert(folder.string());
  }
  std::vector<std::string> names;
  for (const std::set<std::string>& of_drive : folders) {
    names.push_back(fmt::format("{}", fmt::join(of_drive, ", ")));
  }
  return names;
}

std::string LoadedModel::buffered_files() const {
  std::string names;
  if (!impl_->planned.options.direct_io) return names;
  const io::DriveArray& drives = *impl_->opened.drives;
  for (size_t f = 0; f < drives.file_count(); ++f) {
    const FileId file{static_cast<uint16_t>(f)};
    if (!drives.direct(file)) names += (names.empty() ? "" : ", ") + drives.path(file);
  }
  return names;
}

Inspection inspect_model(const std::filesystem::path& folder, const LoadOptions& options) {
  format::Checkpoint checkpoint(folder, options.volumes);
  Inspection result;
  result.shape = read_shape(checkpoint, options);
  const WeightMap weights(checkpoint, result.shape, panel_bytes_max(result.shape));
  const format::Placement placement = make_placement(checkpoint, weights, options.reading);
  const Planned planned = make_plan({checkpoint, result.shape, weights, placement}, options);
  result.plan = planned.plan;
  result.memory_table = stream::memory_table(planned.needs, planned.plan);
  result.read_method = io::describe_method(open_drives(checkpoint.storage(), planned.options));
  result.tensors = checkpoint.tensor_count();
  result.expert_count = weights.expert_count();
  for (const format::Segment& segment : weights.segments) {
    uint64_t& bytes =
        segment.kind == format::SegmentKind::kSpine ? result.spine_bytes : result.expert_bytes;
    bytes += format::payload_bytes(segment);
  }
  result.other_bytes = checkpoint.tensor_bytes() - result.spine_bytes - result.expert_bytes;
  const format::Storage& storage = checkpoint.storage();
  result.volumes.assign(storage.volumes().begin(), storage.volumes().end());
  result.notes.assign(storage.notes().begin(), storage.notes().end());
  const std::string trouble = trouble_of(checkpoint, weights, placement);
  if (!trouble.empty()) result.notes.push_back(trouble);
  return result;
}

}  // namespace sluice::model
