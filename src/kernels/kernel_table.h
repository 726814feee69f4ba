#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::kernels {

/// Columns that one block of the 32-lane order covers: 32 lanes of 16 bytes.
inline constexpr size_t kBf16BlockColumns = 256;
inline constexpr size_t kMxfp4BlockColumns = 1024;

/// Floats that a packed activation row of `columns` takes.
constexpr size_t packed_floats(size_t columns, size_t block) {
  return (columns + block - 1) / block * block;
}

/// One matrix product y[i, r] = sum over c of w[r, c] * x[i, c].
struct MatmulShape {
  size_t w_rows = 0;    ///< Rows of the weight matrix done by this call.
  size_t columns = 0;   ///< Columns of the weight matrix. MXFP4: a multiple of 32.
  size_t x_rows = 0;    ///< Activation rows.
  size_t x_stride = 0;  ///< Floats from one packed activation row to the next.
  size_t y_stride = 0;  ///< Floats from y[i, 0] to y[i + 1, 0].
};

/// The inner loops for one instruction set. Pure: no allocation, no threads, no globals. Every
/// entry gives the same bits in every table; docs/numerics.md defines the order of each reduction.
/// Weights may be unaligned. Packed activations are 64-byte aligned, other arrays 4-byte aligned.
/// Arrays may not overlap unless the entry says so.
struct KernelTable {
  const char* target;  ///< "scalar", "avx2", "avx512", "neon".

  // --- Matrix products
  // -------------------------------------------------------------------------------------
  /// Lays one activation row out for matmul_bf16. packed: [packed_floats(columns,
  /// kBf16BlockColumns)], 32-lane order, padded with +0.
  void (*pack_bf16)(const float* x, size_t columns, float* packed);
  /// The same for matmul_mxfp4, with kMxfp4BlockColumns.
  void (*pack_mxfp4)(const float* x, size_t columns, float* packed);
  /// w: BF16 [w_rows, columns] row-major.
  void (*matmul_bf16)(const MatmulShape& shape, const void* w, const float* x_packed, float* y);
  /// codes: [w_rows, columns / 2], scales: [w_rows, columns / 32] (OCP MX v1.0: E2M1 codes, E8M0
  /// scales; low nibble first). A scale byte of 255 (NaN) must not occur.
  void (*matmul_mxfp4)(const MatmulShape& shape, const void* codes, const void* scales,
                       const float* x_packed, float* y);

  // --- Vectors
  // ---------------------------------------------------------------------------------------------
  // Reductions over n fp32 values run in 32 lanes, lane = index mod 32, one fused chain a lane,
  // then the tree.
  float (*dot)(const float* a, const float* b, size_t n);
  float (*sum)(const float* x, size_t n);
  float (*max)(const float* x, size_t n);  ///< n >= 1. NaN propagates; a zero is +0.
  /// y[i] = fma(a, x[i], y[i]).
  void (*axpy)(float a, const float* x, float* y, size_t n);
  /// y[i] = fma(a, w[i], y[i]) with w BF16.
  void (*axpy_bf16)(float a, const void* w, float* y, size_t n);
  /// y[i] = w[i] with w BF16, exactly.
  void (*decode_bf16)(const void* w, float* y, size_t n);
  /// y[i] = (x[i] * scale) * gain[i]. y may be x.
  void (*scale_gain)(const float* x, float scale, const float* gain, float* y, size_t n);
  /// y[i] = x[i] * scale. y may be x.
  void (*scale)(const float* x, float scale, float* y, size_t n);
  /// y[i] = y[i] + x[i].
  void (*add)(const float* x, float* y, size_t n);
  /// y[i] = x[i] * sigmoid(gate[i]). y may be x.
  void (*mul_sigmoid)(const float* x, const float* gate, float* y, size_t n);
  /// y[i] = sigmoid(x[i]). y may be x.
  void (*sigmoid)(const float* x, float* y, size_t n);
  /// x[i] = exp(x[i] - shift).
  void (*exp_shifted)(float* x, float shift, size_t n);
  /// SiTU: y = (beta * tanh(g / beta) * sigmoid(g)) * (linear_beta * tanh(u / linear_beta)). y may
  /// be g or u.
  void (*situ)(const float* g, const float* u, float beta, float linear_beta, float* y, size_t n);

  // --- Kimi Delta Attention
  // --------------------------------------------------------------------------------
  /// Depthwise causal convolution and SiLU of one token. taps: [n, width], taps[c, width-1] meets
  /// the current token. history: [width - 1, n], oldest first; x: [n]; y: [n]. One fused chain over
  /// the taps, oldest first.
  void (*short_conv)(const float* taps, const float* history, const float* x, size_t width,
                     float* y, size_t n);
  /// decay[i] = exp(lower_bound * sigmoid(rate * (z[i] + bias[i]))). decay may be z.
  void (*kda_decay)(const float* z, const float* bias, float rate, float lower_bound, float* decay,
                    size_t n);
  /// One token of the gated delta rule for one head (Kimi Linear report). state: [dk, dv], updated:
  ///   S = diag(decay) S; u = S^T k; S += k (beta (v - u))^T; o = S^T q.
  /// Each sum over dk is one fused chain per value column in key order. scratch: [dv].
  void (*kda_step)(float* state, const float* q, const float* k, const float* v, const float* decay,
                   float beta, size_t dk, size_t dv, float* scratch, float* o);
};

/// The tables that this processor can run, slowest first; always has "scalar". Tests loop over it.
[[nodiscard]] std::span<const KernelTable* const> runnable_kernels();
/// The fastest of them.
[[nodiscard]] const KernelTable& best_kernels();
/// The table of that name; null when this processor cannot run it or this build does not have it.
[[nodiscard]] const KernelTable* find_kernels(std::string_view target);

}  // namespace sluice::kernels
