// Every operation as its formula says it, in float64 and plain loops. Speed does not matter here:
// this file is the definition that the other backends are tested against.
#include "backend/host_backend.h"
#include "backend/routing.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace sluice::backend {
namespace {

constexpr double kL2Epsilon = 1e-6;  // Inside the root, on the sum (flash-linear-attention).

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double bf16_at(const std::byte* weights, size_t index) {
  uint16_t bits = 0;
  std::memcpy(&bits, weights + 2 * index, sizeof bits);
  const uint32_t word = uint32_t{bits} << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

double dot(std::span<const double> a, const double* b) {
  return std::inner_product(a.begin(), a.end(), b, 0.0);
}

std::vector<double> bf16_row(const std::byte* weights, size_t row, size_t columns) {
  std::vector<double> values(columns);
  for (size_t c = 0; c < columns; ++c) values[c] = bf16_at(weights, row * columns + c);
  return values;
}

// OCP MX v1.0: E2M1 codes, two a byte, low nibble first; one E8M0 scale for 32 columns.
std::vector<double> mxfp4_row(const std::byte* codes, const std::byte* scales, size_t row,
                              size_t columns) {
  constexpr double kMagnitude[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  std::vector<double> values(columns);
  double factor = 0;
  for (size_t c = 0; c < columns; ++c) {
    if (c % 32 == 0) {
      const auto scale = static_cast<int>(scales[row * (columns / 32) + c / 32]);
      factor =
          scale == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, scale - 127);
    }
    const auto byte = static_cast<unsigned>(codes[row * (columns / 2) + c / 2]);
    const unsigned code = c % 2 == 0 ? byte & 15 : byte >> 4;
    values[c] = ((code & 8) != 0 ? -factor : factor) * kMagnitude[code & 7];
  }
  return values;
}

double mean_square(const double* x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum / static_cast<double>(n);
}

double situ_value(double g, double u, SituBetas b) {
  return b.beta * std::tanh(g / b.beta) * sigmoid(g) *
         (b.linear_beta * std::tanh(u / b.linear_beta));
}

void softmax(std::vector<double>& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v - top);
  for (double& v : x) v /= sum;
}

class ReferenceBackend final : public HostBackend<double> {
 public:
  void decode_bf16(std::span<const std::byte> bytes, Tensor x) override {
    SLUICE_CHECK(bytes.size() == 2 * x.size());
    for (size_t i = 0; i < x.size(); ++i) numbers(x)[i] = bf16_at(bytes.data(), i);
  }

  void rms_norm(Tensor x, Tensor gain, float epsilon, Tensor y) override {
    for (uint32_t r = 0; r < x.rows; ++r)
      norm_row(row(x, r), numbers(gain), x.cols, epsilon, row(y, r));
  }

  void matmul(Tensor x, const Panel& panel, Tensor y) override {
    SLUICE_CHECK(x.cols == panel.cols && panel.first_row + panel.rows <= y.cols &&
                 x.rows == y.rows);
    for (uint32_t r = 0; r < panel.rows; ++r) {
      const std::vector<double> weights = bf16_row(panel.weights, r, panel.cols);
      for (uint32_t i = 0; i < x.rows; ++i)
        row(y, i)[panel.first_row + r] = dot(weights, row(x, i));
    }
  }

  void add(Tensor x, Tensor into) override {
    SLUICE_CHECK(x.size() == into.size());
    for (size_t i = 0; i < x.size(); ++i) numbers(into)[i] += numbers(x)[i];
  }
  void situ(Tensor gate, Tensor up, SituBetas betas, Tensor y) override {
    SLUICE_CHECK(gate.size() == up.size() && gate.size() == y.size());
    for (size_t i = 0; i < y.size(); ++i) {
      numbers(y)[i] = situ_value(numbers(gate)[i], numbers(up)[i], betas);
    }
  }
  void mul_sigmoid(Tensor x, Tensor gate, Tensor y) override {
    SLUICE_CHECK(x.size() == gate.size() && x.size() == y.size());
    for (size_t i = 0; i < y.size(); ++i) numbers(y)[i] = numbers(x)[i] * sigmoid(numbers(gate)[i]);
  }
  void exp(Tensor x, Tensor y) override {
    SLUICE_CHECK(x.size() == y.size());
    for (size_t i = 0; i < y.size(); ++i) numbers(y)[i] = std::exp(numbers(x)[i]);
  }

  void attn_residual(std::span<const Tensor> sources, Tensor w, float epsilon, Tensor y) override {
    std::vector<double> share(sources.size());
    std::vector<double> mixed(y.cols);
    for (uint32_t r = 0; r < y.rows; ++r) {
      for (size_t s = 0; s < sources.size(); ++s) {
        const double* v = row(sources[s], r);
        const double inverse = 1 / std::sqrt(mean_square(v, y.cols) + epsilon);
        share[s] = inverse * std::inner_product(v, v + y.cols, numbers(w), 0.0);
      }
      softmax(share);
      std::fill(mixed.begin(), mixed.end(), 0.0);
      for (size_t s = 0; s < sources.size(); ++s) {
        for (uint32_t c = 0; c < y.cols; ++c) mixed[c] += share[s] * row(sources[s], r)[c];
      }
      std::copy(mixed.begin(), mixed.end(), row(y, r));
    }
  }

  void short_conv(Tensor x, Tensor taps, Tensor history, Tensor y) override {
    const uint32_t width = taps.cols;
    SLUICE_CHECK(history.rows + 1 == width && taps.rows == x.cols && history.cols == x.cols);
    for (uint32_t r = 0; r < x.rows; ++r) {
      for (uint32_t c = 0; c < x.cols; ++c) {
        double sum = row(taps, c)[width - 1] * row(x, r)[c];
        for (uint32_t j = 0; j + 1 < width; ++j) sum += row(taps, c)[j] * row(history, j)[c];
        row(y, r)[c] = sum * sigmoid(sum);
      }
      for (uint32_t j = 0; j + 2 < width; ++j) {
        std::copy_n(row(history, j + 1), x.cols, row(history, j));
      }
      if (width > 1) std::copy_n(row(x, r), x.cols, row(history, width - 2));
    }
  }

  void kda(const KdaArguments& a) override {
    const uint32_t d = a.head_dim;
    SLUICE_CHECK(a.q.cols == a.heads * d && a.state.rows == a.heads * d && a.state.cols == d);
    for (uint32_t r = 0; r < a.q.rows; ++r) {
      for (uint32_t h = 0; h < a.heads; ++h) {
        double* q = row(a.q, r) + h * d;
        double* k = row(a.k, r) + h * d;
        unit_length(q, d, 1 / std::sqrt(static_cast<double>(d)));
        unit_length(k, d, 1);
        double* decay = row(a.z, r) + h * d;
        for (uint32_t i = 0; i < d; ++i) {
          const double z = decay[i] + numbers(a.dt_bias)[h * d + i];
          decay[i] = std::exp(a.lower_bound * sigmoid(numbers(a.rate)[h] * z));
        }
        double& beta = row(a.beta, r)[h];
        beta = sigmoid(beta);
        delta_step(row(a.state, size_t{h} * d), q, k, row(a.v, r) + h * d, decay, beta, d,
                   row(a.o, r) + h * d);
      }
    }
  }

  void gated_head_norm(Tensor o, Tensor gain, float epsilon, Tensor gate, Tensor y) override {
    const uint32_t d = gain.cols;
    SLUICE_CHECK(o.cols % d == 0 && gate.size() == o.size());
    for (uint32_t r = 0; r < o.rows; ++r) {
      for (uint32_t h = 0; h < o.cols / d; ++h) {
        double* out = row(y, r) + h * d;
        norm_row(row(o, r) + h * d, numbers(gain), d, epsilon, out);
        for (uint32_t i = 0; i < d; ++i) out[i] *= sigmoid(row(gate, r)[h * d + i]);
      }
    }
  }

  void mla_cache_rows(Tensor kv, Tensor gain, float epsilon, Tensor cache) override {
    SLUICE_CHECK(kv.rows == cache.rows && kv.cols == cache.cols);
    for (uint32_t r = 0; r < kv.rows; ++r) {
      norm_row(row(kv, r), numbers(gain), gain.cols, epsilon, row(cache, r));
      std::copy(row(kv, r) + gain.cols, row(kv, r) + kv.cols, row(cache, r) + gain.cols);
    }
  }

  // Keys and values are expanded here, row by row: the plain form of the definition, against which
  // the absorbed form is tested.
  void mla_attend(const MlaShape& s, Tensor query, const Panel& kv_b, Tensor cache,
                  uint32_t position, Tensor out) override {
    const uint32_t head_rows = s.nope + s.value;
    SLUICE_CHECK(kv_b.first_row % head_rows == 0 && kv_b.rows % head_rows == 0);
    SLUICE_CHECK(kv_b.cols == s.latent && query.cols == s.heads * (s.nope + s.rope));
    const double scale = 1 / std::sqrt(static_cast<double>(s.nope + s.rope));
    for (uint32_t local = 0; local < kv_b.rows / head_rows; ++local) {
      const uint32_t head = kv_b.first_row / head_rows + local;
      const std::vector<double> expanded =
          expand(kv_b, local * head_rows, head_rows, cache, position + query.rows);
      for (uint32_t r = 0; r < query.rows; ++r) {
        const double* q = row(query, r) + head * (s.nope + s.rope);
        std::vector<double> share(position + r + 1);
        for (size_t t = 0; t < share.size(); ++t) {
          const double* key = expanded.data() + t * head_rows;
          share[t] = std::inner_product(q, q + s.nope, key, 0.0);
          const double* rope = row(cache, t) + s.latent;
          share[t] = scale * std::inner_product(q + s.nope, q + s.nope + s.rope, rope, share[t]);
        }
        softmax(share);
        double* o = row(out, r) + head * s.value;
        std::fill_n(o, s.value, 0.0);
        for (size_t t = 0; t < share.size(); ++t) {
          const double* value = expanded.data() + t * head_rows + s.nope;
          for (uint32_t j = 0; j < s.value; ++j) o[j] += share[t] * value[j];
        }
      }
    }
  }

  void route(Tensor scores, Tensor bias, const RouteOptions& options, Routes& out) override {
    route_rows<double>(
        numbers(scores), numbers(bias), scores.rows, scores.cols, options,
        [](double* x, size_t n) {
          for (size_t i = 0; i < n; ++i) x[i] = sigmoid(x[i]);
        },
        out);
  }

  void expert_ffn(PinnedBytes, const ExpertWeights& e, uint32_t hidden, SituBetas betas,
                  std::span<const uint32_t> rows, std::span<const uint32_t> slots_of, Tensor x,
                  Tensor slots) override {
    std::vector<std::vector<double>> act(rows.size(), std::vector<double>(hidden));
    for (uint32_t r = 0; r < hidden; ++r) {
      const std::vector<double> gate = mxfp4_row(e.gate_codes, e.gate_scales, r, x.cols);
      const std::vector<double> up = mxfp4_row(e.up_codes, e.up_scales, r, x.cols);
      for (size_t i = 0; i < rows.size(); ++i) {
        act[i][r] = situ_value(dot(gate, row(x, rows[i])), dot(up, row(x, rows[i])), betas);
      }
    }
    for (uint32_t r = 0; r < x.cols; ++r) {
      const std::vector<double> down = mxfp4_row(e.down_codes, e.down_scales, r, hidden);
      for (size_t i = 0; i < rows.size(); ++i)
        row(slots, slots_of[i])[r] = dot(down, act[i].data());
    }
  }

  void combine(const Routes& routes, Tensor slots, Tensor y) override {
    for (uint32_t r = 0; r < routes.rows; ++r) {
      std::fill_n(row(y, r), y.cols, 0.0);
      for (uint32_t j = 0; j < routes.k; ++j) {
        const size_t slot = size_t{r} * routes.k + j;
        for (uint32_t c = 0; c < y.cols; ++c)
          row(y, r)[c] += routes.weights[slot] * row(slots, slot)[c];
      }
    }
  }

 private:
  static void norm_row(const double* x, const double* gain, size_t n, double epsilon, double* y) {
    const double inverse = 1 / std::sqrt(mean_square(x, n) + epsilon);
    for (size_t i = 0; i < n; ++i) y[i] = gain[i] * x[i] * inverse;
  }

  static void unit_length(double* x, size_t n, double scale) {
    double sum = 0;
    for (size_t i = 0; i < n; ++i) sum += x[i] * x[i];
    for (size_t i = 0; i < n; ++i) x[i] = x[i] / std::sqrt(sum + kL2Epsilon) * scale;
  }

  // Gated delta rule with a decay per key channel (Kimi Linear report): decay, read, write, then
  // output.
  static void delta_step(double* state, const double* q, const double* k, const double* v,
                         const double* decay, double beta, size_t d, double* o) {
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = 0; j < d; ++j) state[i * d + j] *= decay[i];
    }
    std::vector<double> read(d);
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = 0; j < d; ++j) read[j] += k[i] * state[i * d + j];
    }
    std::fill_n(o, d, 0.0);
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = 0; j < d; ++j) {
        state[i * d + j] += k[i] * beta * (v[j] - read[j]);
        o[j] += q[i] * state[i * d + j];
      }
    }
  }

  static std::vector<double> expand(const Panel& kv_b, uint32_t first, uint32_t head_rows,
                                    Tensor cache, uint32_t keys) {
    std::vector<double> expanded(size_t{keys} * head_rows);
    for (uint32_t r = 0; r < head_rows; ++r) {
      const std::vector<double> weights = bf16_row(kv_b.weights, first + r, kv_b.cols);
      for (uint32_t t = 0; t < keys; ++t)
        expanded[size_t{t} * head_rows + r] = dot(weights, row(cache, t));
    }
    return expanded;
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace sluice::backend
