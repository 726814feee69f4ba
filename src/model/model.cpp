#include "model/model.h"

#include "base/check.h"
#include "base/error.h"
#include "model/model_scratch.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace sluice::model {
namespace {

using backend::Tensor;

/// Calls body(state, first row, row count) for each sequence of the batch.
template <class Body>
void for_each_sequence(const Batch& batch, Body body) {
  const auto rows = static_cast<uint32_t>(batch.states.size());
  for (uint32_t first = 0; first < rows;) {
    uint32_t end = first + 1;
    while (end < rows && batch.states[end] == batch.states[first]) ++end;
    body(*batch.states[first], first, end - first);
    first = end;
  }
}

backend::Panel in_memory(const SpinePanel& panel, const SpineMatrix& matrix,
                         const PinnedBytes& bytes) {
  return {.weights = bytes.get().data() + panel.memory_offset,
          .rows = panel.rows,
          .cols = matrix.cols,
          .first_row = panel.first_row};
}

/// A pass that ends by an exception leaves the reader in the middle; the next pass starts anew.
class PassGuard {
 public:
  explicit PassGuard(stream::SpineReader& spine)
      : spine_(spine), exceptions_(std::uncaught_exceptions()) {}
  ~PassGuard() {
    if (std::uncaught_exceptions() > exceptions_) spine_.reset();
  }
  PassGuard(const PassGuard&) = delete;
  PassGuard& operator=(const PassGuard&) = delete;

 private:
  stream::SpineReader& spine_;
  const int exceptions_;
};

}  // namespace

std::string_view tap_name(Tap tap) {
  switch (tap) {
    case Tap::kAttnIn:
      return "attn_in";
    case Tap::kAttnOut:
      return "attn_out";
    case Tap::kMlpIn:
      return "mlp_in";
    case Tap::kMlpOut:
      return "mlp_out";
    case Tap::kPrefix:
      return "prefix";
    case Tap::kFinalIn:
      return "final_in";
    case Tap::kFinalNorm:
      return "final_norm";
  }
  return "";
}

Model::Model(const ModelShape& shape, const WeightMap& weights, EmbeddingTable& embedding,
             stream::WeightStreamer& streamer, stream::SpineReader& spine,
             backend::Backend& backend, ModelOptions options)
    : shape_(shape),
      weights_(weights),
      embedding_(embedding),
      streamer_(streamer),
      spine_(spine),
      backend_(backend),
      options_(options),
      scales_checked_(weights.expert_count(), !options.check_scales) {
  layers_.reserve(shape.layers);
  for (uint32_t l = 0; l < shape.layers; ++l)
    layers_.emplace_back(weights.layers[l], shape, backend);
  scratch_ = std::make_unique<Scratch>(shape, weights, options, backend);
  if (options.hints) {
    guess_ = std::make_unique<ExpertGuess>(shape, weights, streamer, options.hint_limits);
  }
}

Model::~Model() = default;

uint64_t Model::scratch_bytes(const ModelShape& shape, uint32_t element_bytes,
                              ModelOptions options) {
  return Scratch::bytes(shape, element_bytes, options);
}

void Model::observe(uint32_t layer, Tap tap, Tensor tensor) {
  if (observer_ != nullptr) observer_->on_tensor(layer, tap, tensor);
}

void Model::check(const Batch& batch) const {
  SLUICE_CHECK(!batch.tokens.empty() && batch.tokens.size() == batch.states.size());
  SLUICE_CHECK(batch.tokens.size() <= options_.rows_max &&
               batch.logits_rows.size() <= options_.logits_rows_max);
  for (const TokenId token : batch.tokens) {
    if (token.value < 0 || static_cast<uint32_t>(token.value) >= shape_.vocab) {
      throw Error(ErrorCode::kInvalidInput, "token id {} is not in the vocabulary: ids are 0 to {}",
                  token.value, shape_.vocab - 1);
    }
  }
  SLUICE_CHECK(std::ranges::is_sorted(batch.logits_rows) &&
               (batch.logits_rows.empty() || batch.logits_rows.back() < batch.tokens.size()));
  for_each_sequence(batch, [](SequenceState& state, uint32_t, uint32_t rows) {
    if (state.interrupted()) {
      throw Error(ErrorCode::kInvalidInput,
                  "the sequence was interrupted in the middle of a pass; clear it or cut it to a "
                  "saved point");
    }
    if (rows > state.context() - state.length()) {
      throw Error(
          ErrorCode::kInvalidInput,
          "the sequence has {} tokens and {} more do not fit its context of {}; raise --context",
          state.length(), rows, state.context());
    }
  });
}

void Model::forward(const Batch& batch, std::span<float> logits_out) {
  check(batch);
  SLUICE_CHECK(logits_out.size() == batch.logits_rows.size() * shape_.vocab);
  const auto rows = static_cast<uint32_t>(batch.tokens.size());
  if (observer_ != nullptr) observer_->begin_pass(batch);
  const PassGuard guard(spine_);
  spine_.expect_another_pass(batch.another_follows);
  if (batch.logits_rows.empty()) {
    for (const SpinePanel& panel : weights_.lm_head.panels) spine_.skip(panel.segment);
  }
  scratch_->begin(rows);
  const std::span<std::byte> embedded =
      std::span(scratch_->embedded).first(rows * embedding_.row_bytes());
  embedding_.read(batch.tokens, embedded);
  backend_.decode_bf16(embedded, scratch_->stream);
  for_each_sequence(batch, [](SequenceState& state, uint32_t, uint32_t) { state.begin_pass(); });
  for (uint32_t l = 0; l < shape_.layers; ++l) {
    layers_done_ = l;
    if (cancel_ != nullptr && *cancel_)
      throw Error(ErrorCode::kCancelled, "stopped in layer {}", l);
    run_layer(l, batch);
  }
  layers_done_ = shape_.layers;
  for_each_sequence(batch,
                    [](SequenceState& state, uint32_t, uint32_t count) { state.advance(count); });
  logits(batch, logits_out);
  if (observer_ != nullptr) observer_->end_pass();
}

// Block attention residuals: a sublayer's input is a mixture of the anchors (the stream as it was
// at the start of each block) and the running sum of the present block, which restarts with the
// first sublayer's output.
void Model::run_layer(uint32_t l, const Batch& batch) {
  Scratch& s = *scratch_;
  const Layer& layer = layers_[l];
  Tensor input = s.mixed;
  if (s.anchors.empty()) {
    backend_.copy(s.stream, input);
  } else {
    backend_.attn_residual(s.sources(), layer.attn_residual, shape_.norm_epsilon, input);
  }
  observe(l, Tap::kAttnIn, input);
  backend_.rms_norm(input, layer.input_norm, shape_.norm_epsilon, s.normed);
  if (shape_.is_mla[l]) {
    attention_mla(l, batch, s.normed, s.out);
  } else {
    attention_kda(l, batch, s.normed, s.out);
  }
  observe(l, Tap::kAttnOut, s.out);
  if (l % shape_.attn_residual_block == 0) {
    s.push_anchor(backend_);
    backend_.copy(s.out, s.stream);
  } else {
    backend_.add(s.out, s.stream);
  }

  backend_.attn_residual(s.sources(), layer.mlp_residual, shape_.norm_epsilon, input);
  observe(l, Tap::kMlpIn, input);
  backend_.rms_norm(input, layer.post_attention_norm, shape_.norm_epsilon, s.normed);
  if (l < shape_.dense_layers) {
    s.begin_sublayer();
    mlp(weights_.layers[l].dense, shape_.dense_hidden, s.normed, s.out);
  } else {
    moe(l, s.normed, s.out);
  }
  observe(l, Tap::kMlpOut, s.out);
  backend_.add(s.out, s.stream);
  observe(l, Tap::kPrefix, s.stream);
}

void Model::matmul(Tensor x, const SpineMatrix& matrix, Tensor y) {
  for (const SpinePanel& panel : matrix.panels) {
    const PinnedBytes bytes = spine_.take(panel.segment);
    backend_.matmul(x, in_memory(panel, matrix, bytes), y);
  }
}

void Model::attention_kda(uint32_t l, const Batch& batch, Tensor x, Tensor out) {
  Scratch& s = *scratch_;
  const KdaWeights& w = weights_.layers[l].kda;
  const Layer& layer = layers_[l];
  const uint32_t width = shape_.kda_width();
  s.begin_sublayer();
  const Tensor q_raw = s.take(width), k_raw = s.take(width), v_raw = s.take(width);
  const Tensor q = s.take(width), k = s.take(width), v = s.take(width);
  const Tensor low_rank = s.take(shape_.kda_head_dim), beta = s.take(shape_.kda_heads);
  matmul(x, w.q, q_raw);
  matmul(x, w.k, k_raw);
  matmul(x, w.v, v_raw);
  for_each_sequence(batch, [&](SequenceState& state, uint32_t first, uint32_t rows) {
    SequenceState::Kda& kda = state.kda(l);
    backend_.short_conv(q_raw.slice(first, rows), layer.q_conv, kda.q_history,
                        q.slice(first, rows));
    backend_.short_conv(k_raw.slice(first, rows), layer.k_conv, kda.k_history,
                        k.slice(first, rows));
    backend_.short_conv(v_raw.slice(first, rows), layer.v_conv, kda.v_history,
                        v.slice(first, rows));
  });
  // The raw projections are in the histories now; their memory serves for what follows.
  const Tensor z = q_raw, gate = k_raw, o = v_raw;
  matmul(x, w.f_a, low_rank);
  matmul(low_rank, w.f_b, z);
  matmul(x, w.b, beta);
  matmul(x, w.g, gate);
  for_each_sequence(batch, [&](SequenceState& state, uint32_t first, uint32_t rows) {
    backend_.kda({.heads = shape_.kda_heads,
                  .head_dim = shape_.kda_head_dim,
                  .lower_bound = shape_.gate_lower_bound,
                  .q = q.slice(first, rows),
                  .k = k.slice(first, rows),
                  .v = v.slice(first, rows),
                  .z = z.slice(first, rows),
                  .dt_bias = layer.dt_bias,
                  .rate = layer.rate,
                  .beta = beta.slice(first, rows),
                  .state = state.kda(l).state,
                  .o = o.slice(first, rows)});
  });
  backend_.gated_head_norm(o, layer.o_norm, shape_.norm_epsilon, gate, o);
  matmul(o, w.o, out);
}

void Model::attention_mla(uint32_t l, const Batch& batch, Tensor x, Tensor out) {
  Scratch& s = *scratch_;
  const MlaWeights& w = weights_.layers[l].mla;
  const Layer& layer = layers_[l];
  s.begin_sublayer();
  const Tensor latent_query = s.take(shape_.q_lora), query = s.take(shape_.query_width());
  const Tensor kv = s.take(shape_.cache_width());
  const Tensor gate = s.take(shape_.mla_width()), o = s.take(shape_.mla_width());
  matmul(x, w.q_a, latent_query);
  backend_.rms_norm(latent_query, layer.q_a_norm, shape_.mla_norm_epsilon, latent_query);
  matmul(latent_query, w.q_b, query);
  matmul(x, w.kv_a, kv);
  for_each_sequence(batch, [&](SequenceState& state, uint32_t first, uint32_t rows) {
    backend_.mla_cache_rows(kv.slice(first, rows), layer.kv_a_norm, shape_.mla_norm_epsilon,
                            state.mla(l).cache.slice(state.length(), rows));
  });
  const backend::MlaShape mla{.heads = shape_.mla_heads,
                              .nope = shape_.nope,
                              .rope = shape_.rope,
                              .value = shape_.value,
                              .latent = shape_.kv_lora};
  for (const SpinePanel& panel : w.kv_b.panels) {
    const PinnedBytes bytes = spine_.take(panel.segment);
    const backend::Panel kv_b = in_memory(panel, w.kv_b, bytes);
    for_each_sequence(batch, [&](SequenceState& state, uint32_t first, uint32_t rows) {
      backend_.mla_attend(mla, query.slice(first, rows), kv_b, state.mla(l).cache, state.length(),
                          o.slice(first, rows));
    });
  }
  matmul(x, w.g, gate);
  backend_.mul_sigmoid(o, gate, o);
  matmul(o, w.o, out);
}

void Model::mlp(const GluWeights& weights, uint32_t width, Tensor x, Tensor out) {
  const Tensor gate = scratch_->take(width), up = scratch_->take(width);
  matmul(x, weights.gate, gate);
  matmul(x, weights.up, up);
  backend_.situ(gate, up, {shape_.situ_beta, shape_.situ_linear_beta}, gate);
  matmul(gate, weights.down, out);
}

void Model::moe(uint32_t l, Tensor x, Tensor out) {
  Scratch& s = *scratch_;
  const MoeWeights& w = weights_.layers[l].moe;
  const Layer& layer = layers_[l];
  s.begin_sublayer();
  const Tensor scores = s.take(shape_.experts);
  matmul(x, w.router, scores);
  backend_.route(scores, layer.router_bias,
                 {.k = shape_.experts_per_token,
                  .renormalize = shape_.renormalize,
                  .scale = shape_.routed_scale},
                 s.routes);
  if (observer_ != nullptr) observer_->on_routes(l, s.routes);
  s.index_routes();
  stream::SegmentBatch arriving = streamer_.request(s.segments(w.first_expert));
  if (guess_) {
    guess_->requested(l, s.routes);
    if (l + 1 < shape_.layers) guess_experts(l + 1, scores);
  }

  const Tensor latent = s.take(shape_.latent), routed = s.take(shape_.latent);
  Tensor slots = s.take(shape_.latent * shape_.experts_per_token);
  slots.rows *= shape_.experts_per_token;
  slots.cols = shape_.latent;
  matmul(x, w.latent_down, latent);
  mlp(w.shared, shape_.shared_hidden, x, out);  // While the drives read.

  experts(l, latent, std::move(arriving), slots);
  backend_.combine(s.routes, slots, routed);
  backend_.rms_norm(routed, layer.latent_norm, shape_.norm_epsilon, routed);
  matmul(routed, w.latent_up, s.normed);
  backend_.add(s.normed, out);
}

// The router of a layer that is yet to come, on the stream as it is now. Its scores and what they
// are made of overwrite what the layer under way has no use for any more.
void Model::guess_experts(uint32_t l, Tensor scores) {
  Scratch& s = *scratch_;
  const SpineMatrix& router = weights_.layers[l].moe.router;
  const auto resident = [&](const SpinePanel& panel) { return spine_.resident(panel.segment); };
  if (!std::ranges::all_of(router.panels, resident) || !guess_->begin(l, scores.rows)) return;
  const Layer& layer = layers_[l];
  backend_.attn_residual(s.sources(), layer.mlp_residual, shape_.norm_epsilon, s.mixed);
  backend_.rms_norm(s.mixed, layer.post_attention_norm, shape_.norm_epsilon, s.mixed);
  for (const SpinePanel& panel : router.panels) {
    const PinnedBytes bytes = spine_.peek(panel.segment);
    backend_.matmul(s.mixed, in_memory(panel, router, bytes), scores);
  }
  backend_.download(scores, guess_->logits(scores.rows));
  guess_->hint(l, scores.rows);
}

// In order of arrival: each expert writes slots of its own, so the order cannot be seen in the
// result.
void Model::experts(uint32_t l, Tensor latent, stream::SegmentBatch arriving, Tensor slots) {
  Scratch& s = *scratch_;
  const uint32_t first_expert = weights_.layers[l].moe.first_expert;
  while (std::optional<stream::ArrivedSegment> segment = arriving.next()) {
    const std::byte* const memory = segment->bytes.get().data();
    // The first look suffices: what is read later is the same bytes of the same file.
    std::vector<bool>::reference checked =
        scales_checked_[segment->id.value - weights_.pass_order.size()];
    if (!checked) weights_.check_scales(segment->id, memory);
    checked = true;
    const backend::ExpertWeights expert = weights_.expert(segment->id, memory);
    const uint32_t e = segment->id.value - first_expert;
    backend_.expert_ffn(std::move(segment->bytes), expert, shape_.expert_hidden,
                        {shape_.situ_beta, shape_.situ_linear_beta}, s.rows_of(e), s.slots_of(e),
                        latent, slots);
  }
}

void Model::logits(const Batch& batch, std::span<float> out) {
  if (batch.logits_rows.empty() && observer_ == nullptr) return;
  Scratch& s = *scratch_;
  backend_.attn_residual(s.sources(), s.output_residual, shape_.norm_epsilon, s.mixed);
  observe(0, Tap::kFinalIn, s.mixed);
  backend_.rms_norm(s.mixed, s.final_norm, shape_.norm_epsilon, s.normed);
  observe(0, Tap::kFinalNorm, s.normed);
  if (batch.logits_rows.empty()) return;
  const auto count = static_cast<uint32_t>(batch.logits_rows.size());
  for (uint32_t i = 0; i < count; ++i) {
    backend_.copy(s.normed.slice(batch.logits_rows[i], 1), s.logits_input.slice(i, 1));
  }
  matmul(s.logits_input.slice(0, count), weights_.lm_head, s.logits.slice(0, count));
  backend_.download(s.logits.slice(0, count), out);
}

}  // namespace sluice::model
