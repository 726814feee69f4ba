#pragma once
#include "backend/backend.h"
#include "base/types.h"
#include "simulator/compute_rates.h"
#include "stream/route_process.h"
#include "stream/slot_arena.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

namespace sluice::simulator {

struct TimedBackendOptions {
  ComputeRates rates{};
  const stream::RouteTable* routes = nullptr;  ///< Must outlive the backend.
  /// By layer with experts: the share of a row's experts that a guess for the layer finds.
  std::vector<double> recall{};
  uint64_t seed = 1;                       ///< Of the guesses.
  std::function<void(Nanos)> pass_time{};  ///< Called for each operation.
};

/// A backend that computes nothing and takes the time of it. Tensors have addresses and no memory.
/// The experts of a row are the next ones of a table of routes, from the start again when it ends,
/// and the guesses for a layer are as good as asked for. Logits are zeros. One sequence at a time,
/// whose passes run to their end.
class TimedBackend final : public backend::Backend {
 public:
  explicit TimedBackend(TimedBackendOptions options);

  [[nodiscard]] backend::Tensor allocate(uint32_t rows, uint32_t cols) override;
  void release(backend::Tensor tensor) override;
  [[nodiscard]] uint32_t element_bytes() const override { return sizeof(float); }
  void upload(std::span<const float>, backend::Tensor) override {}
  void download(backend::Tensor from, std::span<float> to) override;
  void download_raw(backend::Tensor from, std::span<std::byte> to) override;
  void upload_raw(std::span<const std::byte>, backend::Tensor) override {}
  void copy(backend::Tensor from, backend::Tensor to) override;
  void zero(backend::Tensor) override {}

  void decode_bf16(std::span<const std::byte> bytes, backend::Tensor x) override;
  void rms_norm(backend::Tensor x, backend::Tensor gain, float epsilon, backend::Tensor y) override;
  void matmul(backend::Tensor x, const backend::Panel& panel, backend::Tensor y) override;
  void add(backend::Tensor x, backend::Tensor into) override;
  void situ(backend::Tensor gate, backend::Tensor up, backend::SituBetas betas,
            backend::Tensor y) override;
  void mul_sigmoid(backend::Tensor x, backend::Tensor gate, backend::Tensor y) override;
  void exp(backend::Tensor x, backend::Tensor y) override;
  void attn_residual(std::span<const backend::Tensor> sources, backend::Tensor w, float epsilon,
                     backend::Tensor y) override;
  void short_conv(backend::Tensor x, backend::Tensor taps, backend::Tensor history,
                  backend::Tensor y) override;
  void kda(const backend::KdaArguments& arguments) override;
  void gated_head_norm(backend::Tensor o, backend::Tensor gain, float epsilon, backend::Tensor gate,
                       backend::Tensor y) override;
  void mla_cache_rows(backend::Tensor kv, backend::Tensor gain, float epsilon,
                      backend::Tensor cache) override;
  void mla_attend(const backend::MlaShape& shape, backend::Tensor query, const backend::Panel& kv_b,
                  backend::Tensor cache, uint32_t position, backend::Tensor out) override;
  void route(backend::Tensor scores, backend::Tensor bias, const backend::RouteOptions& options,
             backend::Routes& out) override;
  void expert_ffn(PinnedBytes bytes, const backend::ExpertWeights& expert, uint32_t expert_hidden,
                  backend::SituBetas betas, std::span<const uint32_t> rows,
                  std::span<const uint32_t> slots_of, backend::Tensor x,
                  backend::Tensor slots) override;
  void combine(const backend::Routes& routes, backend::Tensor slots, backend::Tensor y) override;

 private:
  void pass(double seconds);
  void pass_over(size_t numbers);
  [[nodiscard]] double uniform();
  [[nodiscard]] std::span<const uint16_t> turn_of(uint64_t row, uint32_t layer) const;
  [[nodiscard]] uint16_t wrong_expert(uint32_t layer, std::span<const uint16_t> right,
                                      std::span<const float> logits);
  void guess(uint64_t row, uint32_t layer, std::span<float> logits);

  const TimedBackendOptions options_;
  std::unordered_map<std::byte*, std::unique_ptr<stream::SlotArena>> owned_;
  std::mt19937_64 random_;
  uint64_t rows_done_ = 0;   // Of earlier passes.
  uint32_t next_layer_ = 0;  // That route() is called for, of those with experts.
  bool guessing_ = false;    // Between route() and combine() the next layer is guessed for.
  std::vector<bool> used_;
};

}  // namespace sluice::simulator
