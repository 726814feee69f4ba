#include "simulator/compute_rates.h"

#include "base/pinned_bytes.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

namespace sluice::simulator {
namespace {

using backend::Tensor;

// Weights that are read in turns: more than any cache holds.
constexpr size_t kWeightBytes = size_t{256} << 20;
constexpr double kSeconds = 0.2;
constexpr uint32_t kRows = 8, kKeys = 512;

/// Seconds of one call, the median of as many as fit the time.
template <class Work>
double seconds_of(Work work) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  work(0);
  const Clock::time_point begin = Clock::now();
  for (size_t turn = 1;; ++turn) {
    const Clock::time_point start = Clock::now();
    work(turn);
    const Clock::time_point end = Clock::now();
    times.push_back(to_seconds(end - start));
    if (end - begin > std::chrono::duration<double>(kSeconds) && times.size() >= 3) break;
  }
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

/// Runs the operations of a pass on memory of their sizes.
class Measurement {
 public:
  Measurement(const model::ModelShape& shape, backend::Backend& backend)
      : shape_(shape), backend_(backend), weights_(kWeightBytes) {
    // Neither denormal nor infinite, whatever they are read as.
    uint64_t random = 1;
    for (std::byte& byte : weights_) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      byte = std::byte{static_cast<uint8_t>(0x38 + (random >> 61))};
    }
  }

  ComputeRates run() {
    ComputeRates rates;
    rates.operation = Nanos(static_cast<int64_t>(1e9 * small_operation()));
    const double operation = 1e-9 * static_cast<double>(rates.operation.count());
    const auto net = [&](double seconds) { return std::max(seconds - operation, 1e-9); };
    const double panel = 2.0 * panel_rows() * shape_.hidden;
    const double bf16 = net(product(1));
    rates.bf16 = panel / bf16;
    rates.bf16_row = further_row(net(product(kRows)) / bf16);
    const double expert = net(experts(1));
    rates.mxfp4 = static_cast<double>(expert_bytes()) / expert;
    rates.mxfp4_row = further_row(net(experts(kRows)) / expert);
    rates.vector = vector_bytes() / net(vector_operation());
    rates.state = state();
    rates.attention = attention(rates.bf16, operation);
    return rates;
  }

 private:
  /// What each row beyond the first takes, of the time of that, when all take `times` of it. On a
  /// machine that does other work, too, a measurement may say what cannot be.
  [[nodiscard]] static double further_row(double times) {
    return std::clamp((times - 1) / (kRows - 1), 0.0, 1.0);
  }
  [[nodiscard]] Tensor tensor(uint32_t rows, uint32_t cols) {
    return backend_.allocate(rows, cols);
  }
  /// Where the weights of a turn lie.
  [[nodiscard]] const std::byte* at(size_t turn, size_t bytes) const {
    return weights_.data() + turn % (kWeightBytes / bytes) * bytes;
  }
  [[nodiscard]] uint32_t panel_rows() const {
    const uint64_t rows = expert_bytes() / (2 * shape_.hidden);
    return static_cast<uint32_t>(std::clamp<uint64_t>(rows, 1, kWeightBytes / 2 / shape_.hidden));
  }
  [[nodiscard]] size_t expert_bytes() const {
    const size_t matrix = size_t{shape_.expert_hidden} * shape_.latent;
    return 3 * (matrix / 2 + matrix / 32);
  }
  [[nodiscard]] uint32_t vector_cols() const { return shape_.mla_width(); }
  [[nodiscard]] double vector_bytes() const { return 3.0 * sizeof(float) * vector_cols(); }

  double small_operation() {
    const Tensor x = tensor(1, 16), gain = tensor(1, 16);
    return seconds_of([&](size_t) { backend_.rms_norm(x, gain, 1e-5f, x); });
  }

  double vector_operation() {
    const Tensor x = tensor(1, vector_cols()), gate = tensor(1, vector_cols());
    return seconds_of([&](size_t) { backend_.mul_sigmoid(x, gate, x); });
  }

  double product(uint32_t rows) {
    const Tensor x = tensor(rows, shape_.hidden), y = tensor(rows, panel_rows());
    const size_t bytes = size_t{2} * panel_rows() * shape_.hidden;
    return seconds_of([&](size_t turn) {
      backend_.matmul(x, {.weights = at(turn, bytes), .rows = panel_rows(), .cols = shape_.hidden},
                      y);
    });
  }

  double experts(uint32_t rows) {
    const Tensor x = tensor(rows, shape_.latent), slots = tensor(rows, shape_.latent);
    const size_t codes = size_t{shape_.expert_hidden} * shape_.latent / 2;
    std::vector<uint32_t> numbers(rows);
    for (uint32_t r = 0; r < rows; ++r) numbers[r] = r;
    return seconds_of([&](size_t turn) {
      const std::byte* const bytes = at(turn, expert_bytes());
      const std::byte* const scales = bytes + 3 * codes;
      const backend::ExpertWeights expert{.gate_codes = bytes,
                                          .gate_scales = scales,
                                          .up_codes = bytes + codes,
                                          .up_scales = scales + codes / 16,
                                          .down_codes = bytes + 2 * codes,
                                          .down_scales = scales + codes / 8};
      backend_.expert_ffn({}, expert, shape_.expert_hidden,
                          {shape_.situ_beta, shape_.situ_linear_beta}, numbers, numbers, x, slots);
    });
  }

  // Bytes a second of the recurrent states of some layers in turns, each larger than a cache.
  double state() {
    const uint32_t width = shape_.kda_width();
    std::vector<Tensor> states;
    const size_t bytes = sizeof(float) * width * shape_.kda_head_dim;
    for (size_t i = 0; i < std::clamp<size_t>(kWeightBytes / 4 / bytes, 1, 16); ++i) {
      states.push_back(tensor(width, shape_.kda_head_dim));
    }
    backend::KdaArguments arguments{.heads = shape_.kda_heads,
                                    .head_dim = shape_.kda_head_dim,
                                    .lower_bound = shape_.gate_lower_bound,
                                    .q = tensor(1, width),
                                    .k = tensor(1, width),
                                    .v = tensor(1, width),
                                    .z = tensor(1, width),
                                    .dt_bias = tensor(1, width),
                                    .rate = tensor(1, shape_.kda_heads),
                                    .beta = tensor(1, shape_.kda_heads),
                                    .state = {},
                                    .o = tensor(1, width)};
    const double seconds = seconds_of([&](size_t turn) {
      arguments.state = states[turn % states.size()];
      backend_.kda(arguments);
    });
    return 2.0 * static_cast<double>(bytes) / seconds;
  }

  double attention(double bf16, double operation) {
    const backend::MlaShape mla{.heads = shape_.mla_heads,
                                .nope = shape_.nope,
                                .rope = shape_.rope,
                                .value = shape_.value,
                                .latent = shape_.kv_lora};
    const uint32_t head_rows = shape_.nope + shape_.value;
    const size_t head_bytes = size_t{2} * head_rows * shape_.kv_lora;
    const auto heads =
        static_cast<uint32_t>(std::min<size_t>(shape_.mla_heads, kWeightBytes / head_bytes));
    const Tensor query = tensor(1, shape_.query_width()), out = tensor(1, shape_.mla_width());
    const Tensor cache = tensor(kKeys, shape_.cache_width());
    const double seconds = seconds_of([&](size_t turn) {
      const backend::Panel panel{.weights = at(turn, heads * head_bytes),
                                 .rows = heads * head_rows,
                                 .cols = shape_.kv_lora};
      backend_.mla_attend(mla, query, panel, cache, kKeys - 1, out);
    });
    const double weights = static_cast<double>(heads * head_bytes) / bf16;
    const double products = double{kKeys} * heads * (2.0 * shape_.kv_lora + shape_.rope);
    return products / std::max(seconds - weights - operation, 0.05 * seconds);
  }

  const model::ModelShape& shape_;
  backend::Backend& backend_;
  std::vector<std::byte> weights_;
};

}  // namespace

ComputeRates measure_computing(const model::ModelShape& shape, backend::CpuOptions options) {
  options.columns_max = std::max({shape.hidden, shape.latent, shape.expert_hidden, shape.kv_lora,
                                  shape.query_width(), shape.mla_width(), shape.kda_width()});
  options.context_max = kKeys;
  const std::unique_ptr<backend::Backend> backend = backend::make_cpu_backend(options);
  return Measurement(shape, *backend).run();
}

}  // namespace sluice::simulator
