#include "model/model_scratch.h"

#include "base/check.h"

#include <algorithm>

namespace sluice::model {
namespace {

using backend::Tensor;

// Columns that the greediest kind of sublayer takes from the pool; see the take() calls in
// model.cpp.
uint32_t pool_columns(const ModelShape& s) {
  const uint32_t kda = 6 * s.kda_width() + s.kda_head_dim + s.kda_heads;
  const uint32_t mla = s.q_lora + s.query_width() + s.cache_width() + 2 * s.mla_width();
  const uint32_t dense = 2 * s.dense_hidden;
  const uint32_t moe = s.experts + (2 + s.experts_per_token) * s.latent + 2 * s.shared_hidden;
  return std::max({kda, mla, dense, moe});
}

uint64_t stream_tensors(const ModelShape& s) { return 4 + (s.residual_sources() - 1); }

Tensor constant(const SmallTensor& values, uint32_t rows, backend::Backend& backend) {
  if (values.empty()) return {};
  const Tensor tensor = backend.allocate(rows, static_cast<uint32_t>(values.size() / rows));
  backend.upload(values, tensor);
  return tensor;
}

}  // namespace

Model::Layer::Layer(const LayerWeights& w, const ModelShape& shape, backend::Backend& backend)
    : input_norm(constant(w.input_norm, 1, backend)),
      post_attention_norm(constant(w.post_attention_norm, 1, backend)),
      attn_residual(constant(w.attn_residual, 1, backend)),
      mlp_residual(constant(w.mlp_residual, 1, backend)),
      q_conv(constant(w.kda.q_conv, shape.kda_width(), backend)),
      k_conv(constant(w.kda.k_conv, shape.kda_width(), backend)),
      v_conv(constant(w.kda.v_conv, shape.kda_width(), backend)),
      dt_bias(constant(w.kda.dt_bias, 1, backend)),
      rate(constant(w.kda.a_log, 1, backend)),
      o_norm(constant(w.kda.o_norm, 1, backend)),
      q_a_norm(constant(w.mla.q_a_norm, 1, backend)),
      kv_a_norm(constant(w.mla.kv_a_norm, 1, backend)),
      router_bias(constant(w.moe.router_bias, 1, backend)),
      latent_norm(constant(w.moe.latent_norm, 1, backend)) {
  if (rate.data != nullptr) backend.exp(rate, rate);
}

Model::Scratch::Scratch(const ModelShape& shape, const WeightMap& weights, ModelOptions options,
                        backend::Backend& backend)
    : logits_input(backend.allocate(options.logits_rows_max, shape.hidden)),
      logits(backend.allocate(options.logits_rows_max, shape.vocab)),
      final_norm(constant(weights.final_norm, 1, backend)),
      output_residual(constant(weights.output_residual, 1, backend)),
      embedded(size_t{options.rows_max} * shape.hidden * 2),
      stream_max_(backend.allocate(options.rows_max, shape.hidden)),
      mixed_max_(backend.allocate(options.rows_max, shape.hidden)),
      normed_max_(backend.allocate(options.rows_max, shape.hidden)),
      out_max_(backend.allocate(options.rows_max, shape.hidden)),
      pool_(backend.allocate(options.rows_max, pool_columns(shape))),
      expert_begin_(shape.experts + 1) {
  for (uint32_t a = 0; a + 1 < shape.residual_sources(); ++a) {
    anchor_max_.push_back(backend.allocate(options.rows_max, shape.hidden));
  }
  const size_t pairs = size_t{options.rows_max} * shape.experts_per_token;
  for (std::vector<uint32_t>* list : {&expert_rows_, &expert_slots_, &routes.experts})
    list->reserve(pairs);
  routes.weights.reserve(pairs);
  routes.unique.reserve(shape.experts);
  segments_.reserve(shape.experts);
  anchors.reserve(anchor_max_.size());
  sources_.reserve(anchor_max_.size() + 1);
}

uint64_t Model::Scratch::bytes(const ModelShape& shape, uint32_t element_bytes,
                               ModelOptions options) {
  const uint64_t row = stream_tensors(shape) * shape.hidden + pool_columns(shape);
  const uint64_t logits_row = uint64_t{shape.hidden} + shape.vocab;
  const uint64_t routing =
      uint64_t{options.rows_max} * shape.experts_per_token * 4 * sizeof(uint32_t);
  return element_bytes * (row * options.rows_max + logits_row * options.logits_rows_max) + routing +
         uint64_t{options.rows_max} * shape.hidden * 2 +
         (options.hints ? ExpertGuess::bytes(shape) : 0);
}

void Model::Scratch::begin(uint32_t rows) {
  rows_ = rows;
  stream = stream_max_.slice(0, rows);
  mixed = mixed_max_.slice(0, rows);
  normed = normed_max_.slice(0, rows);
  out = out_max_.slice(0, rows);
  anchors.clear();  // Anchors belong to one pass; a leftover would corrupt the next silently.
  taken_ = 0;
}

Tensor Model::Scratch::take(uint32_t cols) {
  SLUICE_CHECK(taken_ + cols <= pool_.cols);
  const Tensor tensor{pool_.data + taken_ * rows_ * pool_.element_bytes, rows_, cols,
                      pool_.element_bytes};
  taken_ += cols;
  return tensor;
}

void Model::Scratch::push_anchor(backend::Backend& backend) {
  SLUICE_CHECK(anchors.size() < anchor_max_.size());
  anchors.push_back(anchor_max_[anchors.size()].slice(0, rows_));
  backend.copy(stream, anchors.back());
}

std::span<const Tensor> Model::Scratch::sources() {
  sources_.assign(anchors.begin(), anchors.end());
  sources_.push_back(stream);
  return sources_;
}

void Model::Scratch::index_routes() {
  std::fill(expert_begin_.begin(), expert_begin_.end(), 0);
  for (const uint32_t e : routes.experts) ++expert_begin_[e + 1];
  for (size_t e = 1; e < expert_begin_.size(); ++e) expert_begin_[e] += expert_begin_[e - 1];
  expert_rows_.resize(routes.experts.size());
  expert_slots_.resize(routes.experts.size());
  // Filling moves each expert's begin to its end, which is the next one's begin; so walk backwards.
  for (size_t pair = routes.experts.size(); pair-- > 0;) {
    const uint32_t at = --expert_begin_[routes.experts[pair] + 1];
    expert_rows_[at] = static_cast<uint32_t>(pair / routes.k);
    expert_slots_[at] = static_cast<uint32_t>(pair);
  }
  // Each entry e + 1 now holds the begin of expert e.
  std::rotate(expert_begin_.begin(), expert_begin_.begin() + 1, expert_begin_.end());
  expert_begin_.back() = static_cast<uint32_t>(routes.experts.size());
}

std::span<const SegmentId> Model::Scratch::segments(uint32_t first_expert) {
  segments_.clear();
  for (const uint32_t e : routes.unique) segments_.push_back({first_expert + e});
  return segments_;
}

std::span<const uint32_t> Model::Scratch::rows_of(uint32_t e) const {
  return std::span(expert_rows_).subspan(expert_begin_[e], expert_begin_[e + 1] - expert_begin_[e]);
}

std::span<const uint32_t> Model::Scratch::slots_of(uint32_t e) const {
  return std::span(expert_slots_)
      .subspan(expert_begin_[e], expert_begin_[e + 1] - expert_begin_[e]);
}

}  // namespace sluice::model
