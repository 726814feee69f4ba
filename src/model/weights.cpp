#include "model/weights.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/error.h"

#include <algorithm>
#include <functional>
#include <span>

namespace sluice::model {
namespace {

using format::Checkpoint;
using format::DType;
using format::FileRange;
using format::TensorInfo;

constexpr std::string_view kRoot = "language_model.";

/// Whether one of the E8M0 scales is 255. In pieces of a fixed size, which the compiler turns into
/// vectors.
bool has_scale_255(std::span<const std::byte> scales) {
  std::array<uint8_t, 64> most{};
  const auto keep_most = [&](size_t i) {
    const auto scale = std::to_integer<uint8_t>(scales[i]);
    most[i] = scale > most[i] ? scale : most[i];
  };
  for (; scales.size() >= most.size(); scales = scales.subspan(most.size())) {
    for (size_t i = 0; i < most.size(); ++i) keep_most(i);
  }
  for (size_t i = 0; i < scales.size(); ++i) keep_most(i);
  return std::ranges::max(most) == 255;
}

}  // namespace

/// Finds, checks and cuts the tensors of one checkpoint into a WeightMap.
class Binder {
 public:
  Binder(const Checkpoint& checkpoint, const ModelShape& shape, uint64_t panel_bytes_max,
         WeightMap& map)
      : checkpoint_(checkpoint), shape_(shape), panel_bytes_max_(panel_bytes_max), map_(map) {}

  void bind_layer(uint32_t l) {
    LayerWeights& layer = map_.layers[l];
    const std::string prefix = fmt::format("{}model.layers.{}.", kRoot, l);
    layer.input_norm = norm(prefix + "input_layernorm.weight", shape_.hidden);
    layer.post_attention_norm = norm(prefix + "post_attention_layernorm.weight", shape_.hidden);
    layer.attn_residual = residual(prefix + "self_attention_res");
    layer.mlp_residual = residual(prefix + "mlp_res");
    if (shape_.is_mla[l]) {
      bind_mla(prefix + "self_attn.", layer.mla);
    } else {
      bind_kda(prefix + "self_attn.", layer.kda);
    }
    if (l < shape_.dense_layers) {
      layer.dense = glu(prefix + "mlp.", shape_.dense_hidden);
    } else {
      bind_moe(prefix + "block_sparse_moe.", layer.moe);
    }
  }

  void bind_globals() {
    map_.embedding = &require(fmt::format("{}model.embed_tokens.weight", kRoot), DType::kBF16,
                              {shape_.vocab, shape_.hidden});
    map_.final_norm = norm(fmt::format("{}model.norm.weight", kRoot), shape_.hidden);
    map_.output_residual = residual(fmt::format("{}model.output_attn_res", kRoot));
    map_.lm_head = matrix(fmt::format("{}lm_head.weight", kRoot), shape_.vocab, shape_.hidden);
    for (const format::Segment& segment : map_.segments) {
      map_.pass_order.push_back({static_cast<uint32_t>(map_.pass_order.size())});
      SLUICE_CHECK(segment.kind == format::SegmentKind::kSpine);
    }
  }

  /// A tensor that nothing asked for would change what the model computes, if it were known.
  void refuse_unknown() {
    if (bound_.size() == checkpoint_.tensor_count()) return;
    std::sort(bound_.begin(), bound_.end());
    checkpoint_.visit_tensors([&](std::string_view name, const TensorInfo& tensor) {
      if (std::binary_search(bound_.begin(), bound_.end(), &tensor)) return;
      throw Error(ErrorCode::kUnsupported,
                  "{}: tensor {} has no place in the model that config.json describes: this K3 "
                  "variant has a tensor that Sluice does not implement, and the result without it "
                  "would be wrong; use the released checkpoint, or check that config.json and the "
                  "shards are of one version",
                  checkpoint_.files()[tensor.shard.value].path.string(), name);
    });
  }

  // Experts come after the spine, so that segment ids of the spine are its pass order.
  void bind_experts() {
    for (uint32_t l = shape_.dense_layers; l < shape_.layers; ++l) {
      map_.layers[l].moe.first_expert = static_cast<uint32_t>(map_.segments.size());
      for (uint32_t e = 0; e < shape_.experts; ++e) bind_expert(l, e);
    }
  }

 private:
  const TensorInfo& require(std::string_view name, DType dtype,
                            std::initializer_list<uint64_t> shape) {
    const TensorInfo& tensor = checkpoint_.require(name, dtype, shape);
    bound_.push_back(&tensor);
    return tensor;
  }

  SmallTensor norm(const std::string& name, uint32_t n, DType dtype = DType::kBF16) {
    return checkpoint_.read_floats(require(name, dtype, {n}));
  }

  // The score of a source is (norm weight * projection) . value; the product of two BF16 is exact
  // in fp32.
  SmallTensor residual(const std::string& name) {
    SmallTensor weight = norm(name + "_norm.weight", shape_.hidden);
    const SmallTensor projection =
        checkpoint_.read_floats(require(name + "_proj.weight", DType::kBF16, {1, shape_.hidden}));
    std::transform(weight.begin(), weight.end(), projection.begin(), weight.begin(),
                   std::multiplies<>());
    return weight;
  }

  // Cuts between groups of `unit` rows, into panels of equal size as far as that goes.
  SpineMatrix matrix(const std::string& name, uint32_t rows, uint32_t cols, uint32_t unit = 1) {
    const TensorInfo& tensor = require(name, DType::kBF16, {rows, cols});
    const uint64_t row_bytes = uint64_t{cols} * 2;
    const uint64_t units = rows / unit;
    const uint64_t units_max = std::max<uint64_t>(1, panel_bytes_max_ / (row_bytes * unit));
    const uint64_t panels = (units + units_max - 1) / units_max;
    SpineMatrix result{rows, cols, {}};
    for (uint64_t p = 0; p < panels; ++p) {
      const auto first = static_cast<uint32_t>(units * p / panels * unit);
      const auto end = static_cast<uint32_t>(units * (p + 1) / panels * unit);
      std::vector<uint64_t> place;
      const SegmentId id{static_cast<uint32_t>(map_.segments.size())};
      map_.segments.push_back(format::lay_out_segment(
          format::SegmentKind::kSpine,
          {FileRange{tensor.shard, tensor.offset + first * row_bytes, (end - first) * row_bytes}},
          place));
      map_.panel_tensors_.push_back(name);
      result.panels.push_back({id, place[0], first, end - first});
    }
    return result;
  }

  GluWeights glu(const std::string& prefix, uint32_t width) {
    GluWeights weights;
    weights.gate = matrix(prefix + "gate_proj.weight", width, shape_.hidden);
    weights.up = matrix(prefix + "up_proj.weight", width, shape_.hidden);
    weights.down = matrix(prefix + "down_proj.weight", shape_.hidden, width);
    return weights;
  }

  void bind_kda(const std::string& prefix, KdaWeights& kda) {
    const uint32_t hidden = shape_.hidden, width = shape_.kda_width(), dim = shape_.kda_head_dim;
    kda.q = matrix(prefix + "q_proj.weight", width, hidden);
    kda.k = matrix(prefix + "k_proj.weight", width, hidden);
    kda.v = matrix(prefix + "v_proj.weight", width, hidden);
    kda.f_a = matrix(prefix + "f_a_proj.weight", dim, hidden);
    kda.f_b = matrix(prefix + "f_b_proj.weight", width, dim);
    kda.b = matrix(prefix + "b_proj.weight", shape_.kda_heads, hidden);
    kda.g = matrix(prefix + "g_proj.weight", width, hidden);
    kda.o = matrix(prefix + "o_proj.weight", hidden, width);
    const auto taps = [&](const char* name) {
      return checkpoint_.read_floats(
          require(prefix + name, DType::kF32, {width, 1, shape_.conv_width}));
    };
    kda.q_conv = taps("q_conv1d.weight");
    kda.k_conv = taps("k_conv1d.weight");
    kda.v_conv = taps("v_conv1d.weight");
    kda.dt_bias = norm(prefix + "dt_bias", width, DType::kF32);
    kda.o_norm = norm(prefix + "o_norm.weight", dim, DType::kF32);
    kda.a_log = decay_rates(prefix + "A_log");
  }

  // The release pads the entries of its 96 heads with zeros to 128; the rest of the file's entries
  // must be that.
  SmallTensor decay_rates(const std::string& name) {
    const TensorInfo* tensor = checkpoint_.find(name);
    const uint32_t stored = tensor != nullptr && tensor->rank == 1 ? tensor->shape[0] : 0;
    SmallTensor rates = norm(name, std::max(stored, shape_.kda_heads), DType::kF32);
    if (std::any_of(rates.begin() + shape_.kda_heads, rates.end(),
                    [](float x) { return x != 0; })) {
      throw Error(
          ErrorCode::kCorrupt,
          "{}: tensor {} has {} entries for {} heads, and those past the heads are not zero",
          checkpoint_.files()[tensor->shard.value].path.string(), name, stored, shape_.kda_heads);
    }
    rates.resize(shape_.kda_heads);
    return rates;
  }

  void bind_mla(const std::string& prefix, MlaWeights& mla) {
    const uint32_t hidden = shape_.hidden;
    mla.q_a = matrix(prefix + "q_a_proj.weight", shape_.q_lora, hidden);
    mla.q_b = matrix(prefix + "q_b_proj.weight", shape_.query_width(), shape_.q_lora);
    mla.kv_a = matrix(prefix + "kv_a_proj_with_mqa.weight", shape_.cache_width(), hidden);
    const uint32_t head_rows = shape_.nope + shape_.value;
    mla.kv_b = matrix(prefix + "kv_b_proj.weight", shape_.mla_heads * head_rows, shape_.kv_lora,
                      head_rows);
    mla.g = matrix(prefix + "g_proj.weight", shape_.mla_width(), hidden);
    mla.o = matrix(prefix + "o_proj.weight", hidden, shape_.mla_width());
    mla.q_a_norm = norm(prefix + "q_a_layernorm.weight", shape_.q_lora);
    mla.kv_a_norm = norm(prefix + "kv_a_layernorm.weight", shape_.kv_lora);
  }

  void bind_moe(const std::string& prefix, MoeWeights& moe) {
    moe.router = matrix(prefix + "gate.weight", shape_.experts, shape_.hidden);
    moe.latent_down =
        matrix(prefix + "routed_expert_down_proj.weight", shape_.latent, shape_.hidden);
    moe.shared = glu(prefix + "shared_experts.", shape_.shared_hidden);
    moe.latent_up = matrix(prefix + "routed_expert_up_proj.weight", shape_.hidden, shape_.latent);
    moe.router_bias = norm(prefix + "gate.e_score_correction_bias", shape_.experts, DType::kF32);
    moe.latent_norm = norm(prefix + "routed_expert_norm.weight", shape_.latent);
  }

  void bind_expert(uint32_t l, uint32_t e) {
    name_.clear();
    fmt::format_to(std::back_inserter(name_), "{}model.layers.{}.block_sparse_moe.experts.{}.",
                   kRoot, l, e);
    const size_t stem = name_.size();
    ranges_.clear();
    const auto add = [&](std::string_view part, uint32_t rows, uint32_t cols) {
      for (const auto& [suffix, width] :
           {std::pair{".weight_packed", cols / 2}, std::pair{".weight_scale", cols / 32}}) {
        name_.resize(stem);
        name_.append(part).append(suffix);
        const TensorInfo& tensor = require(name_, DType::kU8, {rows, width});
        ranges_.push_back({tensor.shard, tensor.offset, tensor.bytes});
      }
    };
    add("w1", shape_.expert_hidden, shape_.latent);
    add("w2", shape_.latent, shape_.expert_hidden);
    add("w3", shape_.expert_hidden, shape_.latent);
    map_.segments.push_back(
        format::lay_out_segment(format::SegmentKind::kExpert, ranges_, places_));
    ExpertPlace place;
    std::transform(places_.begin(), places_.end(), place.offset.begin(),
                   [](uint64_t offset) { return static_cast<uint32_t>(offset); });
    map_.expert_places.push_back(place);
  }

  const Checkpoint& checkpoint_;
  const ModelShape& shape_;
  const uint64_t panel_bytes_max_;
  WeightMap& map_;
  std::string name_;  // Reused for each of the hundreds of thousands of expert tensors.
  std::vector<FileRange> ranges_;
  std::vector<uint64_t> places_;
  std::vector<const TensorInfo*> bound_;  // Each tensor of the checkpoint that was asked for.
};

uint64_t panel_bytes_max(const ModelShape& shape) {
  constexpr uint64_t kLeast = 64u << 10;  // For the experts of tiny models.
  const uint64_t matrix = uint64_t{shape.expert_hidden} * shape.latent;
  const uint64_t expert = 3 * (matrix / 2 + matrix / 32);
  // Rounding outwards may add a block at either end.
  return std::max(expert - std::min(expert, 2 * io::kBlockBytes), kLeast);
}

WeightMap::WeightMap(const Checkpoint& checkpoint, const ModelShape& shape,
                     uint64_t panel_bytes_max)
    : layers(shape.layers) {
  Binder binder(checkpoint, shape, panel_bytes_max, *this);
  scale_bytes_ = uint64_t{shape.expert_hidden} * shape.latent / 32;
  for (uint32_t l = 0; l < shape.layers; ++l) binder.bind_layer(l);
  binder.bind_globals();
  binder.bind_experts();
  binder.refuse_unknown();
  for (const format::CheckpointFile& file : checkpoint.files())
    files_.push_back(file.path.string());
}

uint64_t WeightMap::segment_bytes_max(format::SegmentKind kind) const {
  uint64_t bytes = 0;
  for (const format::Segment& segment : segments) {
    if (segment.kind == kind) bytes = std::max(bytes, segment.memory_bytes);
  }
  return bytes;
}

std::vector<const SmallTensor*> WeightMap::small_tensors() const {
  std::vector<const SmallTensor*> tensors = {&final_norm, &output_residual};
  for (const LayerWeights& l : layers) {
    tensors.insert(tensors.end(), {&l.input_norm, &l.post_attention_norm, &l.attn_residual,
                                   &l.mlp_residual, &l.kda.q_conv, &l.kda.k_conv, &l.kda.v_conv,
                                   &l.kda.dt_bias, &l.kda.a_log, &l.kda.o_norm, &l.mla.q_a_norm,
                                   &l.mla.kv_a_norm, &l.moe.router_bias, &l.moe.latent_norm});
  }
  return tensors;
}

uint64_t WeightMap::small_floats() const {
  uint64_t floats = 0;
  for (const SmallTensor* tensor : small_tensors()) floats += tensor->size();
  return floats;
}

uint64_t WeightMap::small_digest() const {
  uint64_t digest = 0;
  for (const SmallTensor* tensor : small_tensors()) {
    digest = digest_of(digest, std::as_bytes(std::span(*tensor)));
  }
  return digest;
}

backend::ExpertWeights WeightMap::expert(SegmentId id, const std::byte* memory) const {
  SLUICE_CHECK(id.value >= pass_order.size() && id.value < segments.size());
  const std::array<uint32_t, 6>& at = expert_places[id.value - pass_order.size()].offset;
  return {.gate_codes = memory + at[0],
          .gate_scales = memory + at[1],
          .up_codes = memory + at[4],
          .up_scales = memory + at[5],
          .down_codes = memory + at[2],
          .down_scales = memory + at[3]};
}

void WeightMap::check_scales(SegmentId id, const std::byte* memory) const {
  const format::Segment& segment = segments[id.value];
  const std::array<uint32_t, 6>& at = expert_places[id.value - pass_order.size()].offset;
  for (const size_t tensor : {1u, 3u, 5u}) {
    if (!has_scale_255({memory + at[tensor], scale_bytes_})) continue;
    const auto extent = std::ranges::find_if(segment.extents, [&](const format::Extent& e) {
      return at[tensor] >= e.memory_offset && at[tensor] - e.memory_offset < e.bytes;
    });
    SLUICE_CHECK(extent != segment.extents.end());
    throw Error(ErrorCode::kCorrupt,
                "{}: {} has a scale of 255, which is no number: the file is damaged; verify it "
                "against its checksum, or download it again",
                files_[extent->shard.value], name(id));
  }
}

std::string WeightMap::name(SegmentId id) const {
  if (id.value < panel_tensors_.size()) return "tensor " + panel_tensors_[id.value];
  uint32_t layer = 0;
  for (uint32_t l = 0; l < layers.size(); ++l) {
    const MoeWeights& moe = layers[l].moe;
    if (moe.router.rows > 0 && moe.first_expert <= id.value) layer = l;
  }
  return fmt::format("expert {} of layer {}", id.value - layers[layer].moe.first_expert, layer);
}

uint64_t fingerprint_of(const format::Checkpoint& checkpoint, const WeightMap& weights) {
  return digest_of(checkpoint.digest(), weights.small_digest());
}

}  // namespace sluice::model
