#pragma once
#include "base/pinned_bytes.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::backend {

/// A row-major matrix of numbers in a backend's memory and precision. A view: it owns nothing.
struct Tensor {
  std::byte* data = nullptr;
  uint32_t rows = 0, cols = 0;
  uint32_t element_bytes = 0;

  /// `count` rows from `first` on.
  [[nodiscard]] Tensor slice(uint32_t first, uint32_t count) const {
    return {data + size_t{first} * cols * element_bytes, count, cols, element_bytes};
  }
  [[nodiscard]] size_t size() const { return size_t{rows} * cols; }
};

/// Some rows of a BF16 weight matrix [.., cols], row-major, at any alignment.
struct Panel {
  const std::byte* weights = nullptr;
  uint32_t rows = 0, cols = 0;
  uint32_t first_row = 0;  ///< Row of the whole matrix at which this panel starts.
};

/// One routed expert in the released encoding: w1 = gate and w3 = up [hidden, latent], w2 = down
/// [latent, hidden], each as MXFP4 codes [rows, cols / 2] and scales [rows, cols / 32].
struct ExpertWeights {
  const std::byte *gate_codes = nullptr, *gate_scales = nullptr;
  const std::byte *up_codes = nullptr, *up_scales = nullptr;
  const std::byte *down_codes = nullptr, *down_scales = nullptr;
};

/// Which experts each row of a batch goes to.
struct Routes {
  uint32_t rows = 0, k = 0;
  std::vector<uint32_t> experts;  ///< [rows, k], ascending in each row.
  std::vector<float> weights;     ///< [rows, k], in the order of `experts`.
  std::vector<uint32_t> unique;   ///< The experts used, ascending.
};

struct RouteOptions {
  uint32_t k = 1;
  bool renormalize = true;
  float scale = 1.0f;
};

/// SiTU(g, u) = beta tanh(g / beta) sigmoid(g) * linear_beta tanh(u / linear_beta).
struct SituBetas {
  float beta = 4.0f, linear_beta = 25.0f;
};

/// Kimi Delta Attention over the consecutive rows of one sequence, P = heads * head_dim.
struct KdaArguments {
  uint32_t heads = 0, head_dim = 0;
  float lower_bound = -5.0f;
  Tensor q, k, v;  ///< [rows, P] after convolution and SiLU; q and k are normalised in place.
  Tensor z;        ///< [rows, P] W_fb W_fa x; overwritten with the decay.
  Tensor dt_bias;  ///< [1, P]
  Tensor rate;     ///< [1, heads], exp(A_log).
  Tensor beta;     ///< [rows, heads] W_b x; overwritten with its sigmoid.
  Tensor state;    ///< [P, head_dim]: per head, key index by value index. Updated.
  Tensor o;        ///< [rows, P]
};

/// Multi-head latent attention in the absorbed form, shapes of all its calls.
struct MlaShape {
  uint32_t heads = 0, nope = 0, rope = 0, value = 0, latent = 0;
};

/// Does the arithmetic of whole layers on one kind of hardware. A virtual call per operation, none
/// inside. Every row of every operation depends on that row (and its sequence's state) alone.
/// Shapes are checked with SLUICE_CHECK. One thread calls it. docs/model.md gives the formula of
/// each operation.
class Backend {
 public:
  virtual ~Backend() = default;

  // --- Memory
  // ----------------------------------------------------------------------------------------------
  /// Zeros that live as long as the backend. Nothing is allocated in a forward pass.
  [[nodiscard]] virtual Tensor allocate(uint32_t rows, uint32_t cols) = 0;
  /// Gives back what allocate() returned.
  virtual void release(Tensor tensor) = 0;
  [[nodiscard]] virtual uint32_t element_bytes() const = 0;
  virtual void upload(std::span<const float> from, Tensor to) = 0;
  virtual void download(Tensor from, std::span<float> to) = 0;
  /// The exact bytes of a tensor, for saving and restoring state.
  virtual void download_raw(Tensor from, std::span<std::byte> to) = 0;
  virtual void upload_raw(std::span<const std::byte> from, Tensor to) = 0;
  virtual void copy(Tensor from, Tensor to) = 0;
  virtual void zero(Tensor tensor) = 0;

  // --- Dense parts
  // -----------------------------------------------------------------------------------------
  /// x: [rows, cols] = the BF16 rows of `bytes`, exactly.
  virtual void decode_bf16(std::span<const std::byte> bytes, Tensor x) = 0;
  /// y = gain * x / sqrt(mean(x^2) + epsilon) by row; gain: [1, cols]. y may be x.
  virtual void rms_norm(Tensor x, Tensor gain, float epsilon, Tensor y) = 0;
  /// y[:, panel.first_row + r] = sum over c of panel[r, c] * x[:, c].
  virtual void matmul(Tensor x, const Panel& panel, Tensor y) = 0;
  /// into += x.
  virtual void add(Tensor x, Tensor into) = 0;
  /// y = SiTU(gate, up). y may be gate.
  virtual void situ(Tensor gate, Tensor up, SituBetas betas, Tensor y) = 0;
  /// y = x * sigmoid(gate). y may be x.
  virtual void mul_sigmoid(Tensor x, Tensor gate, Tensor y) = 0;
  /// y = exp(x).
  virtual void exp(Tensor x, Tensor y) = 0;

  // --- Block attention residuals
  // ---------------------------------------------------------------------------
  /// y = softmax-weighted sum of the sources by row, scored with w: [1, cols] on their normalised
  /// values.
  virtual void attn_residual(std::span<const Tensor> sources, Tensor w, float epsilon,
                             Tensor y) = 0;

  // --- Kimi Delta Attention
  // --------------------------------------------------------------------------------
  /// Causal depthwise convolution and SiLU over consecutive rows of one sequence. taps: [cols,
  /// width]; history: [width - 1, cols], the last rows of x before this call, oldest first;
  /// updated. y must not be x.
  virtual void short_conv(Tensor x, Tensor taps, Tensor history, Tensor y) = 0;
  virtual void kda(const KdaArguments& arguments) = 0;
  /// y = rms_norm of each head of o with gain [1, head_dim], times sigmoid(gate). y may be o.
  virtual void gated_head_norm(Tensor o, Tensor gain, float epsilon, Tensor gate, Tensor y) = 0;

  // --- Multi-head latent attention
  // -------------------------------------------------------------------------
  /// cache: [rows, latent + rope] = (rms_norm of the first `latent` columns of kv with `gain`, the
  /// rest as is).
  virtual void mla_cache_rows(Tensor kv, Tensor gain, float epsilon, Tensor cache) = 0;
  /// For the heads whose kv_b rows `panel` holds (whole heads): query: [rows, heads, nope + rope]
  /// is absorbed into latent space, scored against cache rows 0 .. position + row, and the mixed
  /// latent expanded into out: [rows, heads, value]. `position`: cache rows that precede this
  /// call's first row.
  virtual void mla_attend(const MlaShape& shape, Tensor query, const Panel& kv_b, Tensor cache,
                          uint32_t position, Tensor out) = 0;

  // --- Mixture of experts
  // ----------------------------------------------------------------------------------
  /// scores: [rows, experts] router logits; bias: [1, experts], for the selection only. Ties go to
  /// the lowest id. `out` keeps its memory from call to call.
  virtual void route(Tensor scores, Tensor bias, const RouteOptions& options, Routes& out) = 0;
  /// slots[slots_of[i]] = down(SiTU(gate x[rows[i]], up x[rows[i]])) for each i. Takes the bytes so
  /// that they stay until the work that reads them is done. x: [rows, latent], slots: [rows * k,
  /// latent].
  virtual void expert_ffn(PinnedBytes bytes, const ExpertWeights& expert, uint32_t expert_hidden,
                          SituBetas betas, std::span<const uint32_t> rows,
                          std::span<const uint32_t> slots_of, Tensor x, Tensor slots) = 0;
  /// y[r] = sum over j of weights[r, j] * slots[r * k + j], in ascending j (ascending expert id).
  virtual void combine(const Routes& routes, Tensor slots, Tensor y) = 0;
};

struct CpuOptions {
  uint32_t threads = 0;      ///< 0: every processor this process may use.
  std::string_view target;   ///< A KernelTable name; empty: the fastest.
  uint32_t columns_max = 0;  ///< Largest matrix width that products will see.
  uint32_t context_max = 0;  ///< Largest cache that attention will see, rows.
};

/// fp32 over a kernel table, with threads. Throws Error(kUnsupported) for a target that this
/// processor lacks.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);
/// Scratch that make_cpu_backend reserves for these options, bytes.
[[nodiscard]] uint64_t cpu_scratch_bytes(const CpuOptions& options);
/// float64 and plain loops: defines every operation.
[[nodiscard]] std::unique_ptr<Backend> make_reference_backend();

}  // namespace sluice::backend
