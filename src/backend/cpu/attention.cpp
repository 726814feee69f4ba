#include "backend/cpu/cpu_backend.h"

#include <cmath>

namespace sluice::backend {
namespace {

constexpr float kL2Epsilon = 1e-6f;  // Inside the root, on the sum (flash-linear-attention).

}  // namespace

// Kimi Delta Attention.

void CpuBackend::short_conv(Tensor x, Tensor taps, Tensor history, Tensor y) {
  const size_t width = taps.cols, n = x.cols;
  SLUICE_CHECK(width >= 2 && history.rows + 1 == width && taps.rows == n && history.cols == n);
  SLUICE_CHECK(y.rows == x.rows && y.cols == x.cols && y.data != x.data);
  for (size_t r = 0; r < x.rows; ++r) {
    kernels_.short_conv(numbers(taps), numbers(history), row(x, r), width, row(y, r), n);
    std::copy(row(history, 1), row(history, width - 1), row(history, 0));
    std::copy_n(row(x, r), n, row(history, width - 2));
  }
}

void CpuBackend::kda(const KdaArguments& a) {
  SLUICE_CHECK(a.q.cols == a.heads * a.head_dim && a.state.rows == a.q.cols);
  SLUICE_CHECK(a.state.cols == a.head_dim && a.beta.cols == a.heads &&
               a.head_dim <= worker_floats_);
  kernels_.sigmoid(numbers(a.beta), numbers(a.beta), a.beta.size());
  pool_.parallel_for(a.heads, 1, [&](uint32_t worker, size_t begin, size_t end) {
    for (size_t h = begin; h < end; ++h)
      kda_head(a, static_cast<uint32_t>(h), worker_scratch(worker));
  });
}

void CpuBackend::kda_head(const KdaArguments& a, uint32_t head, float* scratch) const {
  const size_t d = a.head_dim, at = head * d;
  const float query_scale = 1.0f / std::sqrt(static_cast<float>(d));
  for (size_t r = 0; r < a.q.rows; ++r) {
    float* q = row(a.q, r) + at;
    float* k = row(a.k, r) + at;
    float* decay = row(a.z, r) + at;
    kernels_.scale(q, query_scale / std::sqrt(kernels_.dot(q, q, d) + kL2Epsilon), q, d);
    kernels_.scale(k, 1.0f / std::sqrt(kernels_.dot(k, k, d) + kL2Epsilon), k, d);
    kernels_.kda_decay(decay, numbers(a.dt_bias) + at, numbers(a.rate)[head], a.lower_bound, decay,
                       d);
    kernels_.kda_step(row(a.state, at), q, k, row(a.v, r) + at, decay, row(a.beta, r)[head], d, d,
                      scratch, row(a.o, r) + at);
  }
}

// Multi-head latent attention.

void CpuBackend::mla_cache_rows(Tensor kv, Tensor gain, float epsilon, Tensor cache) {
  SLUICE_CHECK(kv.rows == cache.rows && kv.cols == cache.cols && gain.cols <= kv.cols);
  for (size_t r = 0; r < kv.rows; ++r) {
    norm_row(row(kv, r), numbers(gain), gain.cols, epsilon, row(cache, r));
    std::copy(row(kv, r) + gain.cols, row(kv, r) + kv.cols, row(cache, r) + gain.cols);
  }
}

void CpuBackend::mla_attend(const MlaShape& s, Tensor query, const Panel& kv_b, Tensor cache,
                            uint32_t position, Tensor out) {
  const size_t head_rows = s.nope + s.value;
  SLUICE_CHECK(kv_b.first_row % head_rows == 0 && kv_b.rows % head_rows == 0 &&
               kv_b.cols == s.latent);
  SLUICE_CHECK(query.cols == s.heads * (s.nope + s.rope) && out.cols == s.heads * s.value);
  SLUICE_CHECK(cache.cols == s.latent + s.rope && position + query.rows <= cache.rows);
  SLUICE_CHECK(kernels::packed_floats(s.latent, kernels::kBf16BlockColumns) +
                   2 * size_t{cache.cols} + position + query.rows <=
               worker_floats_);
  const size_t heads = kv_b.rows / head_rows, first_head = kv_b.first_row / head_rows;
  // A head's rows of kv_b are used by all rows of the pass, so heads are the outer order.
  pool_.parallel_for(heads * query.rows, 1, [&](uint32_t worker, size_t begin, size_t end) {
    for (size_t task = begin; task < end; ++task) {
      const size_t local = task / query.rows, r = task % query.rows, head = first_head + local;
      attend_row(s, row(query, r) + head * (s.nope + s.rope),
                 kv_b.weights + local * head_rows * s.latent * 2, cache,
                 static_cast<uint32_t>(position + r + 1), worker_scratch(worker),
                 row(out, r) + head * s.value);
    }
  });
}

// score = (W_k^T q_n . c + q_r . k_r) / sqrt(nope + rope); out = W_v sum of softmax(score) c. Every
// sum over keys runs over all of them in order, so decode and prefill give the same bits.
void CpuBackend::attend_row(const MlaShape& s, const float* query, const std::byte* kv_b,
                            Tensor cache, uint32_t keys, float* scratch, float* out) const {
  const size_t width = s.latent + s.rope, weight_row_bytes = size_t{s.latent} * 2;
  const size_t packed_floats = kernels::packed_floats(s.latent, kernels::kBf16BlockColumns);
  float* packed = scratch;                   // [packed_floats]
  float* absorbed = packed + packed_floats;  // [latent + rope]
  float* mixed = absorbed + width;           // [latent]
  float* share = mixed + s.latent;           // [keys]
  std::fill_n(absorbed, s.latent, 0.0f);
  for (size_t i = 0; i < s.nope; ++i) {
    kernels_.axpy_bf16(query[i], kv_b + i * weight_row_bytes, absorbed, s.latent);
  }
  std::copy_n(query + s.nope, s.rope, absorbed + s.latent);

  const float scale = 1.0f / std::sqrt(static_cast<float>(s.nope + s.rope));
  for (uint32_t t = 0; t < keys; ++t)
    share[t] = kernels_.dot(absorbed, row(cache, t), width) * scale;
  kernels_.exp_shifted(share, kernels_.max(share, keys), keys);
  const float inverse = 1.0f / kernels_.sum(share, keys);
  std::fill_n(mixed, s.latent, 0.0f);
  for (uint32_t t = 0; t < keys; ++t)
    kernels_.axpy(share[t] * inverse, row(cache, t), mixed, s.latent);

  kernels_.pack_bf16(mixed, s.latent, packed);
  const kernels::MatmulShape shape{.w_rows = s.value,
                                   .columns = s.latent,
                                   .x_rows = 1,
                                   .x_stride = packed_floats,
                                   .y_stride = s.value};
  kernels_.matmul_bf16(shape, kv_b + s.nope * weight_row_bytes, packed, out);
}

}  // namespace sluice::backend
