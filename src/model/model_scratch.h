#pragma once
#include "model/model.h"

#include <span>
#include <vector>

namespace sluice::model {

/// The small tensors of one layer in the backend's memory.
struct Model::Layer {
  Layer(const LayerWeights& weights, const ModelShape& shape, backend::Backend& backend);

  backend::Tensor input_norm, post_attention_norm, attn_residual, mlp_residual;
  backend::Tensor q_conv, k_conv, v_conv, dt_bias, rate, o_norm;  // KDA layers; rate = exp(A_log).
  backend::Tensor q_a_norm, kv_a_norm;                            // MLA layers.
  backend::Tensor router_bias, latent_norm;                       // Layers with experts.
};

/// The activations of one pass, reserved for the most rows. Tensors whose names are nouns of the
/// stream live through the pass; take() lends memory until the next begin_sublayer().
struct Model::Scratch {
  Scratch(const ModelShape& shape, const WeightMap& weights, ModelOptions options,
          backend::Backend& backend);
  static uint64_t bytes(const ModelShape& shape, uint32_t element_bytes, ModelOptions options);

  void begin(uint32_t rows);
  void begin_sublayer() { taken_ = 0; }
  /// [rows, cols]
  backend::Tensor take(uint32_t cols);

  void push_anchor(backend::Backend& backend);
  /// The anchors, oldest first, then the stream.
  std::span<const backend::Tensor> sources();

  /// Sorts the rows of `routes` by expert, for the three calls below.
  void index_routes();
  std::span<const SegmentId> segments(uint32_t first_expert);
  std::span<const uint32_t> rows_of(uint32_t expert) const;
  std::span<const uint32_t> slots_of(uint32_t expert) const;

  backend::Tensor stream, mixed, normed, out;  // [rows, hidden], of the pass under way.
  std::vector<backend::Tensor> anchors;
  backend::Tensor logits_input, logits;  // [logits_rows_max, hidden], [logits_rows_max, vocab]
  backend::Tensor final_norm, output_residual;
  std::vector<std::byte> embedded;  // [rows_max, hidden] BF16.
  backend::Routes routes;

 private:
  backend::Tensor stream_max_, mixed_max_, normed_max_, out_max_, pool_;
  std::vector<backend::Tensor> anchor_max_;
  std::vector<backend::Tensor> sources_;
  uint32_t rows_ = 0;
  size_t taken_ = 0;                    // Columns of pool_ lent.
  std::vector<uint32_t> expert_begin_;  // [experts + 1] into the next two.
  std::vector<uint32_t> expert_rows_, expert_slots_;
  std::vector<SegmentId> segments_;
};

}  // namespace sluice::model
