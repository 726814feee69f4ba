#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::model {

/// The shape of a K3-family text model, read from config.json (`text_config`).
struct ModelShape {
  uint32_t layers = 0, hidden = 0, vocab = 0;
  uint32_t attn_residual_block = 0;  ///< Layers per block of the attention residuals.
  float norm_epsilon = 1e-5f;
  float mla_norm_epsilon =
      1e-6f;  ///< Of the two latent norms of MLA; not in the config (docs/model.md).

  std::vector<bool> is_mla;  ///< By layer; the others are KDA.

  uint32_t kda_heads = 0, kda_head_dim = 0, conv_width = 0;
  float gate_lower_bound = -5.0f;

  uint32_t mla_heads = 0, q_lora = 0, kv_lora = 0, nope = 0, rope = 0, value = 0;

  uint32_t dense_layers = 0;  ///< The first layers have one dense MLP instead of experts.
  uint32_t dense_hidden = 0;
  uint32_t experts = 0, experts_per_token = 0, expert_hidden = 0, latent = 0, shared_hidden = 0;
  bool renormalize = true;
  float routed_scale = 1.0f;
  float situ_beta = 4.0f, situ_linear_beta = 25.0f;

  int32_t bos = -1, eos = -1, pad = -1;
  uint32_t context_max = 0;

  [[nodiscard]] uint32_t kda_width() const { return kda_heads * kda_head_dim; }
  [[nodiscard]] uint32_t query_width() const { return mla_heads * (nope + rope); }
  [[nodiscard]] uint32_t cache_width() const { return kv_lora + rope; }
  [[nodiscard]] uint32_t mla_width() const { return mla_heads * value; }
  /// Most sources that an attention residual mixes: every anchor and the running sum.
  [[nodiscard]] uint32_t residual_sources() const {
    return (layers + attn_residual_block - 1) / attn_residual_block + 1;
  }
};

/// Throws Error that names the field of `config_json` (the text of config.json): kCorrupt for what
/// is missing, of the wrong type or out of range, kUnsupported for a value that this code does not
/// implement.
[[nodiscard]] ModelShape parse_shape(std::string_view config_json, const std::string& path);

}  // namespace sluice::model
