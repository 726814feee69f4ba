#include "backend/cpu/cpu_backend.h"

#include "backend/routing.h"
#include "base/error.h"
#include "base/types.h"

#include <cmath>

namespace sluice::backend {
namespace {

// Weight rows that a worker takes at a time, at least: enough that taking them costs nothing beside
// reading them. A long panel is cut in a few ranges a worker, because the kernels read ahead past
// the end of a range, into rows that another worker reads as well.
constexpr size_t kWeightRows = 16;
constexpr size_t kRangesPerWorker = 4;
// Elements below which forking costs more than the work.
constexpr size_t kElementGrain = 16384;

size_t worker_floats(const CpuOptions& options) {
  // One attention row: the packed and the plain mixed latent, the absorbed query, a share for each
  // key. A KDA head or the shares of an attention residual need less.
  return round_up(
      size_t{options.context_max} + 3 * size_t{options.columns_max} + kernels::kBf16BlockColumns,
      16);
}

size_t packed_floats_max(const CpuOptions& options) {
  return kernels::packed_floats(options.columns_max, kernels::kMxfp4BlockColumns);
}

uint32_t thread_count(const CpuOptions& options) {
  return options.threads != 0 ? options.threads : default_thread_count();
}

}  // namespace

CpuBackend::CpuBackend(const kernels::KernelTable& kernels, const CpuOptions& options)
    : kernels_(kernels),
      pool_(thread_count(options)),
      worker_floats_(worker_floats(options)),
      packed_floats_max_(packed_floats_max(options)),
      worker_scratch_(allocate(pool_.threads(), static_cast<uint32_t>(worker_floats_))),
      packed_(allocate(kRowBlock, static_cast<uint32_t>(packed_floats_max_))),
      expert_gate_(allocate(kRowBlock, options.columns_max)),
      expert_up_(allocate(kRowBlock, options.columns_max)) {}

// Elementwise.

void CpuBackend::decode_bf16(std::span<const std::byte> bytes, Tensor x) {
  SLUICE_CHECK(bytes.size() == 2 * x.size());
  kernels_.decode_bf16(bytes.data(), numbers(x), x.size());
}

void CpuBackend::add(Tensor x, Tensor into) {
  SLUICE_CHECK(x.size() == into.size());
  kernels_.add(numbers(x), numbers(into), x.size());
}

void CpuBackend::situ(Tensor gate, Tensor up, SituBetas betas, Tensor y) {
  SLUICE_CHECK(gate.size() == up.size() && gate.size() == y.size());
  pool_.parallel_for(y.size(), kElementGrain, [&](uint32_t, size_t begin, size_t end) {
    kernels_.situ(numbers(gate) + begin, numbers(up) + begin, betas.beta, betas.linear_beta,
                  numbers(y) + begin, end - begin);
  });
}

void CpuBackend::mul_sigmoid(Tensor x, Tensor gate, Tensor y) {
  SLUICE_CHECK(x.size() == gate.size() && x.size() == y.size());
  pool_.parallel_for(y.size(), kElementGrain, [&](uint32_t, size_t begin, size_t end) {
    kernels_.mul_sigmoid(numbers(x) + begin, numbers(gate) + begin, numbers(y) + begin,
                         end - begin);
  });
}

void CpuBackend::exp(Tensor x, Tensor y) {
  SLUICE_CHECK(x.size() == y.size());
  copy(x, y);
  kernels_.exp_shifted(numbers(y), 0.0f, y.size());
}

// Norms.

void CpuBackend::norm_row(const float* x, const float* gain, size_t n, float epsilon,
                          float* y) const {
  const float mean_square = kernels_.dot(x, x, n) / static_cast<float>(n);
  kernels_.scale_gain(x, 1.0f / std::sqrt(mean_square + epsilon), gain, y, n);
}

void CpuBackend::rms_norm(Tensor x, Tensor gain, float epsilon, Tensor y) {
  SLUICE_CHECK(x.cols == gain.cols && x.rows == y.rows && x.cols == y.cols);
  pool_.parallel_for(x.rows, 1, [&](uint32_t, size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r)
      norm_row(row(x, r), numbers(gain), x.cols, epsilon, row(y, r));
  });
}

void CpuBackend::gated_head_norm(Tensor o, Tensor gain, float epsilon, Tensor gate, Tensor y) {
  const size_t d = gain.cols;
  SLUICE_CHECK(o.cols % d == 0 && gate.size() == o.size() && y.size() == o.size());
  pool_.parallel_for(o.size() / d, 64, [&](uint32_t, size_t begin, size_t end) {
    for (size_t h = begin; h < end; ++h) {
      float* out = numbers(y) + h * d;
      norm_row(numbers(o) + h * d, numbers(gain), d, epsilon, out);
      kernels_.mul_sigmoid(out, numbers(gate) + h * d, out, d);
    }
  });
}

void CpuBackend::attn_residual(std::span<const Tensor> sources, Tensor w, float epsilon, Tensor y) {
  SLUICE_CHECK(sources.size() <= worker_floats_ && w.cols == y.cols &&
               y.cols <= packed_floats_max_);
  const size_t n = y.cols;
  pool_.parallel_for(y.rows, 1, [&](uint32_t worker, size_t begin, size_t end) {
    float* share = worker_scratch(worker);
    for (size_t r = begin; r < end; ++r) {
      for (size_t s = 0; s < sources.size(); ++s) {
        const float* v = row(sources[s], r);
        const float mean_square = kernels_.dot(v, v, n) / static_cast<float>(n);
        share[s] = kernels_.dot(v, numbers(w), n) * (1.0f / std::sqrt(mean_square + epsilon));
      }
      kernels_.exp_shifted(share, kernels_.max(share, sources.size()), sources.size());
      const float sum = kernels_.sum(share, sources.size());
      float* mixed = row(y, r);
      std::fill_n(mixed, n, 0.0f);
      for (size_t s = 0; s < sources.size(); ++s) {
        kernels_.axpy(share[s] / sum, row(sources[s], r), mixed, n);
      }
    }
  });
}

// Products.

void CpuBackend::matmul(Tensor x, const Panel& panel, Tensor y) {
  SLUICE_CHECK(x.cols == panel.cols && x.rows == y.rows && panel.first_row + panel.rows <= y.cols);
  const size_t stride = kernels::packed_floats(x.cols, kernels::kBf16BlockColumns);
  SLUICE_CHECK(stride <= packed_floats_max_);
  for (uint32_t first = 0; first < x.rows; first += kRowBlock) {
    const uint32_t rows = std::min(kRowBlock, x.rows - first);
    for (uint32_t i = 0; i < rows; ++i) {
      kernels_.pack_bf16(row(x, first + i), x.cols, numbers(packed_) + i * stride);
    }
    pool_.parallel_for(
        panel.rows,
        std::max<size_t>(kWeightRows, panel.rows / (kRangesPerWorker * pool_.threads())),
        [&](uint32_t, size_t begin, size_t end) {
          const kernels::MatmulShape shape{.w_rows = end - begin,
                                           .columns = x.cols,
                                           .x_rows = rows,
                                           .x_stride = stride,
                                           .y_stride = y.cols};
          kernels_.matmul_bf16(shape, panel.weights + begin * x.cols * 2, numbers(packed_),
                               row(y, first) + panel.first_row + begin);
        });
  }
}

void CpuBackend::expert_ffn(PinnedBytes, const ExpertWeights& e, uint32_t hidden, SituBetas betas,
                            std::span<const uint32_t> rows, std::span<const uint32_t> slots_of,
                            Tensor x, Tensor slots) {
  const size_t latent = x.cols;
  const size_t x_stride = kernels::packed_floats(latent, kernels::kMxfp4BlockColumns);
  const size_t act_stride = kernels::packed_floats(hidden, kernels::kMxfp4BlockColumns);
  SLUICE_CHECK(std::max(x_stride, act_stride) <= packed_floats_max_ && slots.cols == latent);
  SLUICE_CHECK(hidden <= expert_gate_.cols && latent <= expert_gate_.cols);
  for (size_t first = 0; first < rows.size(); first += kRowBlock) {
    const size_t count = std::min<size_t>(kRowBlock, rows.size() - first);
    for (size_t i = 0; i < count; ++i) {
      kernels_.pack_mxfp4(row(x, rows[first + i]), latent, numbers(packed_) + i * x_stride);
    }
    const auto product = [&](const std::byte* codes, const std::byte* scales, size_t columns,
                             size_t stride, size_t begin, size_t end, Tensor y) {
      const kernels::MatmulShape shape{.w_rows = end - begin,
                                       .columns = columns,
                                       .x_rows = count,
                                       .x_stride = stride,
                                       .y_stride = y.cols};
      kernels_.matmul_mxfp4(shape, codes + begin * (columns / 2), scales + begin * (columns / 32),
                            numbers(packed_), numbers(y) + begin);
    };
    pool_.parallel_for(hidden, kWeightRows, [&](uint32_t, size_t begin, size_t end) {
      product(e.gate_codes, e.gate_scales, latent, x_stride, begin, end, expert_gate_);
      product(e.up_codes, e.up_scales, latent, x_stride, begin, end, expert_up_);
      for (size_t i = 0; i < count; ++i) {
        float* gate = row(expert_gate_, i) + begin;
        kernels_.situ(gate, row(expert_up_, i) + begin, betas.beta, betas.linear_beta, gate,
                      end - begin);
      }
    });
    for (size_t i = 0; i < count; ++i) {
      kernels_.pack_mxfp4(row(expert_gate_, i), hidden, numbers(packed_) + i * act_stride);
    }
    pool_.parallel_for(latent, kWeightRows, [&](uint32_t, size_t begin, size_t end) {
      product(e.down_codes, e.down_scales, hidden, act_stride, begin, end, expert_up_);
      for (size_t i = 0; i < count; ++i) {
        std::copy_n(row(expert_up_, i) + begin, end - begin,
                    row(slots, slots_of[first + i]) + begin);
      }
    });
  }
}

// Routing.

void CpuBackend::route(Tensor scores, Tensor bias, const RouteOptions& options, Routes& out) {
  SLUICE_CHECK(bias.cols == scores.cols);
  route_rows<float>(
      numbers(scores), numbers(bias), scores.rows, scores.cols, options,
      [this](float* x, size_t n) { kernels_.sigmoid(x, x, n); }, out);
}

void CpuBackend::combine(const Routes& routes, Tensor slots, Tensor y) {
  SLUICE_CHECK(slots.cols == y.cols && slots.rows >= routes.rows * routes.k &&
               y.rows == routes.rows);
  pool_.parallel_for(routes.rows, 1, [&](uint32_t, size_t begin, size_t end) {
    for (size_t r = begin; r < end; ++r) {
      std::fill_n(row(y, r), y.cols, 0.0f);
      for (size_t j = 0; j < routes.k; ++j) {
        kernels_.axpy(routes.weights[r * routes.k + j], row(slots, r * routes.k + j), row(y, r),
                      y.cols);
      }
    }
  });
}

uint64_t cpu_scratch_bytes(const CpuOptions& options) {
  return sizeof(float) *
         (worker_floats(options) * thread_count(options) +
          kRowBlock * (packed_floats_max(options) + 2 * size_t{options.columns_max}));
}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  const kernels::KernelTable* kernels =
      options.target.empty() ? &kernels::best_kernels() : kernels::find_kernels(options.target);
  if (kernels == nullptr) {
    std::string known;
    for (const kernels::KernelTable* table : kernels::runnable_kernels()) {
      known += known.empty() ? "" : ", ";
      known += table->target;
    }
    throw Error(ErrorCode::kUnsupported,
                "this processor has no instruction set '{}'; it can run: {}", options.target,
                known);
  }
  return std::make_unique<CpuBackend>(*kernels, options);
}

}  // namespace sluice::backend
