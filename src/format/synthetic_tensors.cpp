#include "format/synthetic_tensors.h"

#include "format/safetensors.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace sluice::format {
namespace {

using Kind = Fill::Kind;

// Deviations are gain / sqrt(columns). These gains keep the stream's size through a deep stack:
// what a sublayer adds is a little smaller than what is there.
constexpr float kResidual = 0.7f, kQuery = 1.3f, kOut = 0.7f, kUp = 1.5f, kDown = 0.35f;
constexpr float kExpertGate = 1.2f, kExpertUp = 2.0f, kLatentUp = 0.5f, kHead = 3.0f;
constexpr float kCodeDeviation = 2.93f;  // Root mean square of a random E2M1 code.

// The base-2 logarithm of x > 0 as the nearest integer, the same on every platform.
int nearest_exponent(float x) {
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);  // In [0.5, 1).
  return mantissa * mantissa < 0.5f ? exponent - 1 : exponent;
}

/// Collects the tensors of one shard.
class Shard {
 public:
  void bf16(const std::string& name, std::vector<uint64_t> shape, float mean, float deviation) {
    add(name, DType::kBF16, std::move(shape), {Kind::kBf16, mean, deviation});
  }
  void linear(const std::string& name, uint64_t out, uint64_t in, float gain = 1.0f) {
    bf16(name + ".weight", {out, in}, 0, gain / std::sqrt(static_cast<float>(in)));
  }
  void norm(const std::string& name, uint64_t n) { bf16(name + ".weight", {n}, 1, 0.2f); }
  void f32(const std::string& name, std::vector<uint64_t> shape, float low, float high) {
    add(name, DType::kF32, std::move(shape), {Kind::kF32, low, high});
  }
  void rates(const std::string& name, uint64_t stored, uint64_t used) {
    add(name, DType::kF32, {stored}, {Kind::kRates, -0.47f, 1.01f, used});
  }
  void mxfp4(const std::string& name, uint64_t out, uint64_t in, float gain) {
    const float deviation = gain / std::sqrt(static_cast<float>(in)) / kCodeDeviation;
    add(name + ".weight_packed", DType::kU8, {out, in / 2}, {Kind::kCodes});
    add(name + ".weight_scale", DType::kU8, {out, in / 32},
        {Kind::kScales, static_cast<float>(127 + nearest_exponent(deviation))});
  }

  std::vector<SyntheticTensor> take() {
    std::sort(tensors_.begin(), tensors_.end(),
              [](const SyntheticTensor& a, const SyntheticTensor& b) {
                const auto rank = [](const SyntheticTensor& t) {
                  return t.tensor.dtype == "F32" ? 0 : t.tensor.dtype == "BF16" ? 1 : 2;
                };
                return rank(a) != rank(b) ? rank(a) < rank(b) : a.tensor.name < b.tensor.name;
              });
    return std::move(tensors_);
  }

 private:
  void add(const std::string& name, DType dtype, std::vector<uint64_t> shape, Fill fill) {
    uint64_t bytes = dtype_bytes(dtype);
    for (const uint64_t extent : shape) bytes *= extent;
    tensors_.push_back({{name, std::string(dtype_name(dtype)), std::move(shape), bytes}, fill});
  }

  std::vector<SyntheticTensor> tensors_;
};

void add_mla(const SyntheticShape& s, const std::string& p, Shard& shard) {
  shard.linear(p + "q_a_proj", s.q_lora, s.hidden);
  shard.norm(p + "q_a_layernorm", s.q_lora);
  shard.linear(p + "q_b_proj", uint64_t{s.mla_heads} * (s.nope + s.rope), s.q_lora, kQuery);
  shard.linear(p + "kv_a_proj_with_mqa", s.kv_lora + s.rope, s.hidden);
  shard.norm(p + "kv_a_layernorm", s.kv_lora);
  shard.linear(p + "kv_b_proj", uint64_t{s.mla_heads} * (s.nope + s.value), s.kv_lora);
  shard.linear(p + "g_proj", uint64_t{s.mla_heads} * s.value, s.hidden);
  shard.linear(p + "o_proj", s.hidden, uint64_t{s.mla_heads} * s.value, kOut);
}

void add_kda(const SyntheticShape& s, const std::string& p, Shard& shard) {
  const uint64_t width = uint64_t{s.kda_heads} * s.kda_dim;
  for (const char* name : {"q", "k", "v"}) {
    shard.linear(fmt::format("{}{}_proj", p, name), width, s.hidden);
    shard.f32(fmt::format("{}{}_conv1d.weight", p, name), {width, 1, s.conv_width}, -0.6f, 1.0f);
  }
  shard.linear(p + "f_a_proj", s.kda_dim, s.hidden);
  shard.linear(p + "f_b_proj", width, s.kda_dim);
  shard.linear(p + "b_proj", s.kda_heads, s.hidden);
  shard.linear(p + "g_proj", width, s.hidden);
  // Stored with as many entries as a head has columns, like the release.
  shard.rates(p + "A_log", std::max(s.kda_dim, s.kda_heads), s.kda_heads);
  shard.f32(p + "dt_bias", {width}, -6, 0);
  shard.f32(p + "o_norm.weight", {s.kda_dim}, 0.7f, 1.3f);
  shard.linear(p + "o_proj", s.hidden, width, kOut);
}

void add_experts(const SyntheticShape& s, const std::string& p, Shard& shard) {
  shard.linear(p + "gate", s.experts, s.hidden);
  shard.f32(p + "gate.e_score_correction_bias", {s.experts}, -0.09f, 0.09f);
  shard.linear(p + "routed_expert_down_proj", s.latent, s.hidden);
  shard.norm(p + "routed_expert_norm", s.latent);
  shard.linear(p + "routed_expert_up_proj", s.hidden, s.latent, kLatentUp);
  const uint64_t shared = uint64_t{s.shared} * s.expert_hidden;
  shard.linear(p + "shared_experts.gate_proj", shared, s.hidden);
  shard.linear(p + "shared_experts.up_proj", shared, s.hidden, kUp);
  shard.linear(p + "shared_experts.down_proj", s.hidden, shared, kDown);
  for (uint32_t e = 0; e < s.experts; ++e) {
    const std::string expert = fmt::format("{}experts.{}.", p, e);
    shard.mxfp4(expert + "w1", s.expert_hidden, s.latent, kExpertGate);
    shard.mxfp4(expert + "w3", s.expert_hidden, s.latent, kExpertUp);
    shard.mxfp4(expert + "w2", s.latent, s.expert_hidden, 1.0f);
  }
}

// The vision part has its real names, so that what skips them is exercised.
constexpr uint64_t kVisionWidth = 1024, kVisionHeads = 1536, kVisionHidden = 4096;

void add_projector(const SyntheticShape& s, Shard& shard) {
  shard.norm("mm_projector.post_norm", s.hidden);
  if (s.vision_blocks == 0) return;
  shard.linear("mm_projector.proj.0", kVisionHidden, kVisionHidden);
  shard.linear("mm_projector.proj.2", s.hidden, kVisionHidden);
}

void add_vision_tower(const SyntheticShape& s, Shard& shard) {
  const std::string root = "vision_tower.";
  shard.norm(root + "encoder.final_layernorm", s.vision_blocks == 0 ? 32 : kVisionWidth);
  if (s.vision_blocks == 0) return;
  shard.bf16(root + "patch_embed.proj.weight", {kVisionWidth, 3, 14, 14}, 0, 0.04f);
  shard.bf16(root + "patch_embed.pos_emb.weight", {64, 64, kVisionWidth}, 0, 1);
  for (uint32_t b = 0; b < s.vision_blocks; ++b) {
    const std::string p = fmt::format("{}encoder.blocks.{}.", root, b);
    shard.norm(p + "norm0", kVisionWidth);
    shard.norm(p + "norm1", kVisionWidth);
    shard.linear(p + "wqkv", 3 * kVisionHeads, kVisionWidth);
    shard.linear(p + "wo", kVisionWidth, kVisionHeads);
    shard.linear(p + "mlp.fc0", kVisionHidden, kVisionWidth);
    shard.linear(p + "mlp.fc1", kVisionWidth, kVisionHidden);
  }
}

std::vector<SyntheticTensor> layer_shard(const SyntheticShape& s, uint32_t l) {
  Shard shard;
  const std::string p = fmt::format("language_model.model.layers.{}.", l);
  for (const char* name :
       {"input_layernorm", "post_attention_layernorm", "self_attention_res_norm", "mlp_res_norm"}) {
    shard.norm(p + name, s.hidden);
  }
  for (const char* name : {"self_attention_res_proj", "mlp_res_proj"})
    shard.linear(p + name, 1, s.hidden, kResidual);
  if (std::find(s.mla_layers.begin(), s.mla_layers.end(), l + 1) != s.mla_layers.end()) {
    add_mla(s, p + "self_attn.", shard);
  } else {
    add_kda(s, p + "self_attn.", shard);
  }
  if (l < s.dense_layers) {
    shard.linear(p + "mlp.gate_proj", s.dense_hidden, s.hidden);
    shard.linear(p + "mlp.up_proj", s.dense_hidden, s.hidden, kUp);
    shard.linear(p + "mlp.down_proj", s.hidden, s.dense_hidden, kDown);
  } else {
    add_experts(s, p + "block_sparse_moe.", shard);
  }
  return shard.take();
}

}  // namespace

uint32_t synthetic_shard_count(const SyntheticShape& s) { return s.layers + 3; }

std::vector<SyntheticTensor> synthetic_shard(const SyntheticShape& s, uint32_t index) {
  if (index < s.layers) return layer_shard(s, index);
  Shard shard;
  if (index == s.layers) {
    shard.bf16("language_model.model.embed_tokens.weight", {s.vocab, s.hidden}, 0, 1);
    shard.norm("language_model.model.norm", s.hidden);
    shard.norm("language_model.model.output_attn_res_norm", s.hidden);
    shard.linear("language_model.model.output_attn_res_proj", 1, s.hidden, kResidual);
    shard.linear("language_model.lm_head", s.vocab, s.hidden, kHead);
  } else if (index == s.layers + 1) {
    add_projector(s, shard);
  } else {
    add_vision_tower(s, shard);
  }
  return shard.take();
}

}  // namespace sluice::format
