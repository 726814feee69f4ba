#pragma once
#include "backend/host_backend.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"

namespace sluice::backend {

/// Scratch of the products: activation rows are packed in blocks of this many, so that a block of
/// them stays in the second-level cache while weights pass by once.
inline constexpr uint32_t kRowBlock = 32;

/// fp32 on ordinary processors: a kernel table under a thread pool. Work is cut by weight rows,
/// heads or activation rows, never inside a reduction, so no result depends on the number of
/// threads.
class CpuBackend final : public HostBackend<float> {
 public:
  CpuBackend(const kernels::KernelTable& kernels, const CpuOptions& options);

  void decode_bf16(std::span<const std::byte> bytes, Tensor x) override;
  void rms_norm(Tensor x, Tensor gain, float epsilon, Tensor y) override;
  void matmul(Tensor x, const Panel& panel, Tensor y) override;
  void add(Tensor x, Tensor into) override;
  void situ(Tensor gate, Tensor up, SituBetas betas, Tensor y) override;
  void mul_sigmoid(Tensor x, Tensor gate, Tensor y) override;
  void exp(Tensor x, Tensor y) override;
  void attn_residual(std::span<const Tensor> sources, Tensor w, float epsilon, Tensor y) override;
  void short_conv(Tensor x, Tensor taps, Tensor history, Tensor y) override;
  void kda(const KdaArguments& arguments) override;
  void gated_head_norm(Tensor o, Tensor gain, float epsilon, Tensor gate, Tensor y) override;
  void mla_cache_rows(Tensor kv, Tensor gain, float epsilon, Tensor cache) override;
  void mla_attend(const MlaShape& shape, Tensor query, const Panel& kv_b, Tensor cache,
                  uint32_t position, Tensor out) override;
  void route(Tensor scores, Tensor bias, const RouteOptions& options, Routes& out) override;
  void expert_ffn(PinnedBytes bytes, const ExpertWeights& expert, uint32_t expert_hidden,
                  SituBetas betas, std::span<const uint32_t> rows,
                  std::span<const uint32_t> slots_of, Tensor x, Tensor slots) override;
  void combine(const Routes& routes, Tensor slots, Tensor y) override;

 private:
  // Floats that each worker has to itself, aligned like a packed row.
  [[nodiscard]] float* worker_scratch(uint32_t worker) const {
    return row(worker_scratch_, worker);
  }
  void norm_row(const float* x, const float* gain, size_t n, float epsilon, float* y) const;
  void kda_head(const KdaArguments& arguments, uint32_t head, float* scratch) const;
  void attend_row(const MlaShape& shape, const float* query, const std::byte* kv_b, Tensor cache,
                  uint32_t keys, float* scratch, float* out) const;

  const kernels::KernelTable& kernels_;
  ThreadPool pool_;
  const size_t worker_floats_;
  const size_t packed_floats_max_;
  Tensor worker_scratch_;  // [threads, worker_floats_]
  Tensor packed_;          // [kRowBlock, packed_floats_max_]: activations laid out for a product.
  Tensor expert_gate_;     // [kRowBlock, columns_max]
  Tensor expert_up_;
};

}  // namespace sluice::backend
