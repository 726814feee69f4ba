#include "model/loaded_model.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "stream/slot_table.h"
#include "stream/system_memory.h"

#include <algorithm>

namespace sluice::model {
namespace {

// Panels of the spine that are read ahead of their use: at SSD speed a few of an expert's size
// cover the time that a matrix product takes, and each costs a slot.
constexpr uint64_t kLookaheadPanels = 4;
// Panels are as long as an expert, so that they fit its slots; in tiny models they may be longer.
constexpr uint64_t kPanelBytesMin = 64u << 10;
constexpr uint32_t kPrefillRowsMax = 512;
// The program itself with its libraries, stacks and buffers.
constexpr uint64_t kProgramBytes = 24u << 20;
// What the tables of a checkpoint hold for each tensor and each segment.
constexpr uint64_t kTensorBytes = 64, kSegmentBytes = 208;

uint64_t expert_file_bytes(const ModelShape& s) {
  const uint64_t matrix = uint64_t{s.expert_hidden} * s.latent;
  return 3 * (matrix / 2 + matrix / 32);
}

uint64_t panel_bytes_max(const ModelShape& s) {
  const uint64_t expert = expert_file_bytes(s);
  // Rounding outwards may add a block at either end.
  return std::max(expert - std::min(expert, 2 * io::kBlockBytes), kPanelBytesMin);
}

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
  return {.rows_max = options.prefill_rows,
          .logits_rows_max = options.logits_of_every_row ? options.prefill_rows : 1};
}

stream::MemoryNeeds memory_needs(const format::Checkpoint& checkpoint, const ModelShape& shape,
                                 const WeightMap& weights, const LoadOptions& options) {
  const uint32_t element = element_bytes(options.backend);
  const ModelOptions rows = model_options(options);
  stream::MemoryNeeds needs;
  needs.budget_bytes = options.memory_bytes;
  needs.fixed_bytes = kProgramBytes + checkpoint.tensor_count() * kTensorBytes +
                      weights.segments.size() * kSegmentBytes;
  // The map keeps the small tensors as the file has them, the backend in its own precision.
  needs.small_weight_bytes = weights.small_floats() * (sizeof(float) + element);
  needs.state_bytes = options.sequences * SequenceState::bytes(shape, element, options.context);
  needs.scratch_bytes = Model::scratch_bytes(shape, element, rows) +
                        uint64_t{rows.logits_rows_max} * shape.vocab * sizeof(float);
  if (options.backend == BackendKind::kCpu) {
    needs.scratch_bytes += backend::cpu_scratch_bytes(cpu_options(shape, options));
  }
  if (options.output_bytes) needs.output_bytes = options.output_bytes(shape);
  needs.slot_record_bytes =
      stream::SlotTable::record_bytes(weights.segments, options.reading.read_bytes);
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
Planned make_plan(const format::Checkpoint& checkpoint, const ModelShape& shape,
                  const WeightMap& weights, LoadOptions options) {
  if (options.context == LoadOptions{}.context) {
    options.context = std::min(options.context, shape.context_max);
  }
  if (options.context > shape.context_max) {
    throw Error(ErrorCode::kInvalidInput,
                "a context of {} tokens is longer than this model's {} (max_position_embeddings); "
                "shorten the prompt or --max-new, or lower --context",
                options.context, shape.context_max);
  }
  if (options.threads == 0) options.threads = default_thread_count();
  if (options.memory_bytes == 0) options.memory_bytes = stream::measure_memory_budget();
  const auto planned = [&](uint32_t rows) {
    Planned result{options, {}, {}};
    result.options.prefill_rows = rows;
    result.needs = memory_needs(checkpoint, shape, weights, result.options);
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

io::OpenedDrives open_drives(const format::Checkpoint& checkpoint, const LoadOptions& options) {
  if (options.reading.make_drives) return {.drives = options.reading.make_drives(), .no_uring = {}};
  std::vector<std::string> paths;
  for (const format::CheckpointFile& file : checkpoint.files()) paths.push_back(file.path.string());
  return io::open_drives(paths, {.method = options.read_method, .direct = options.direct_io});
}

stream::StreamerOptions streamer_options(const ModelShape& shape, const WeightMap& weights,
                                         const stream::MemoryPlan& plan,
                                         const ReadingOptions& reading) {
  stream::StreamerOptions options;
  options.own_thread = !reading.make_drives;
  options.read_bytes = reading.read_bytes;
  options.bytes_in_flight = reading.bytes_in_flight;
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

std::unique_ptr<backend::Backend> make_backend(const ModelShape& shape,
                                               const LoadOptions& options) {
  return options.backend == BackendKind::kCpu
             ? backend::make_cpu_backend(cpu_options(shape, options))
             : backend::make_reference_backend();
}

}  // namespace

struct LoadedModel::Impl {
  Impl(const std::filesystem::path& folder, const LoadOptions& wanted)
      : checkpoint(folder),
        shape(read_shape(checkpoint, wanted)),
        weights(checkpoint, shape, panel_bytes_max(shape)),
        fingerprint(digest_of(checkpoint.digest(), weights.small_digest())),
        planned(make_plan(checkpoint, shape, weights, wanted)) {
    if (!planned.plan.fits) {
      throw Error(
          ErrorCode::kOutOfMemory,
          "{}: {} of memory do not suffice; the smallest budget that works is {} (--memory {})\n{}",
          folder.string(), stream::human_bytes(planned.options.memory_bytes),
          stream::human_bytes(planned.plan.minimum_bytes), planned.plan.minimum_bytes,
          stream::memory_table(planned.needs, planned.plan));
    }
    embedding = std::make_unique<EmbeddingTable>(checkpoint, *weights.embedding);
    opened = open_drives(checkpoint, planned.options);
    streamer = std::make_unique<stream::WeightStreamer>(
        weights.segments, *opened.drives,
        streamer_options(shape, weights, planned.plan, planned.options.reading));
    spine = std::make_unique<stream::SpineReader>(*streamer, weights.pass_order,
                                                  planned.plan.pinned, kLookaheadPanels);
    backend = make_backend(shape, planned.options);
    model = std::make_unique<Model>(shape, weights, *embedding, *streamer, *spine, *backend,
                                    model_options(planned.options));
  }

  const format::Checkpoint checkpoint;
  const ModelShape shape;
  const WeightMap weights;
  const uint64_t fingerprint;
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
const stream::MemoryPlan& LoadedModel::plan() const { return impl_->planned.plan; }
const LoadOptions& LoadedModel::options() const { return impl_->planned.options; }
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

std::string LoadedModel::buffered_files() const {
  std::string names;
  if (!impl_->planned.options.direct_io) return names;
  const io::DriveArray& drives = *impl_->opened.drives;
  for (size_t d = 0; d < drives.drive_count(); ++d) {
    const DriveId drive{static_cast<uint16_t>(d)};
    if (!drives.direct(drive)) names += (names.empty() ? "" : ", ") + drives.path(drive);
  }
  return names;
}

Inspection inspect_model(const std::filesystem::path& folder, const LoadOptions& options) {
  const format::Checkpoint checkpoint(folder);
  Inspection result;
  result.shape = read_shape(checkpoint, options);
  const WeightMap weights(checkpoint, result.shape, panel_bytes_max(result.shape));
  const Planned planned = make_plan(checkpoint, result.shape, weights, options);
  result.plan = planned.plan;
  result.memory_table = stream::memory_table(planned.needs, planned.plan);
  result.read_method = io::describe_method(open_drives(checkpoint, planned.options));
  result.tensors = checkpoint.tensor_count();
  result.expert_count = weights.expert_count();
  for (const format::Segment& segment : weights.segments) {
    uint64_t& bytes =
        segment.kind == format::SegmentKind::kSpine ? result.spine_bytes : result.expert_bytes;
    for (const format::Extent& extent : segment.extents) bytes += extent.bytes;
  }
  result.other_bytes = checkpoint.tensor_bytes() - result.spine_bytes - result.expert_bytes;
  return result;
}

}  // namespace sluice::model
