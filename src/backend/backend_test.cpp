// Each operation of the cpu backend against the reference, on shapes with every kind of remainder,
// and row by row against itself: a row may not feel how many others run with it.
#include "backend/backend.h"

#include "base/error.h"
#include "kernels/kernel_table.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace sluice::backend {
namespace {

constexpr double kTolerance =
    2e-6;  // Relative L2 of one fp32 operation, with room for cancellation.

class Source {
 public:
  explicit Source(uint32_t seed) : engine_(seed) {}
  float number() { return std::uniform_real_distribution<float>(-2, 2)(engine_); }
  std::vector<float> numbers(size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = number();
    return values;
  }
  std::vector<std::byte> bf16(size_t n) {
    std::vector<std::byte> bytes(2 * n);
    for (size_t i = 0; i < n; ++i) {
      const float value = number();
      uint32_t word = 0;
      std::memcpy(&word, &value, sizeof word);
      const auto half = static_cast<uint16_t>(word >> 16);
      std::memcpy(bytes.data() + 2 * i, &half, sizeof half);
    }
    return bytes;
  }
  std::vector<std::byte> bytes(size_t n, int low = 0, int high = 255) {
    std::vector<std::byte> result(n);
    for (std::byte& b : result)
      b = static_cast<std::byte>(std::uniform_int_distribution<int>(low, high)(engine_));
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// Runs the same steps on both backends and compares what they return.
class BackendTest : public testing::TestWithParam<std::string> {
 protected:
  using Steps = std::function<std::vector<Tensor>(Backend&)>;

  static Tensor upload(Backend& backend, uint32_t rows, uint32_t cols,
                       std::span<const float> values) {
    const Tensor tensor = backend.allocate(rows, cols);
    backend.upload(values, tensor);
    return tensor;
  }
  static std::vector<float> download(Backend& backend, Tensor tensor) {
    std::vector<float> values(tensor.size());
    backend.download(tensor, values);
    return values;
  }

  static std::unique_ptr<Backend> cpu(uint32_t threads) {
    return make_cpu_backend(
        {.threads = threads, .target = GetParam(), .columns_max = 2048, .context_max = 256});
  }

  static void compare(const std::string& what, const Steps& steps) {
    const std::unique_ptr<Backend> reference = make_reference_backend();
    const std::vector<Tensor> want = steps(*reference);
    for (const uint32_t threads : {1u, 3u}) {
      const std::unique_ptr<Backend> backend = cpu(threads);
      const std::vector<Tensor> got = steps(*backend);
      ASSERT_EQ(got.size(), want.size());
      for (size_t t = 0; t < want.size(); ++t) {
        const std::vector<float> a = download(*backend, got[t]), b = download(*reference, want[t]);
        double difference = 0, norm = 1e-300;
        for (size_t i = 0; i < b.size(); ++i) {
          difference += std::pow(double{a[i]} - b[i], 2);
          norm += double{b[i]} * b[i];
        }
        EXPECT_LE(std::sqrt(difference / norm), kTolerance) << what << ", result " << t;
      }
    }
  }
};

TEST_P(BackendTest, Norms) {
  for (const uint32_t cols : {1u, 7u, 31u, 32u, 33u, 200u}) {
    compare(fmt::format("rms_norm {}", cols), [&](Backend& b) {
      Source source(cols);
      const Tensor x = upload(b, 3, cols, source.numbers(3 * cols)),
                   gain = upload(b, 1, cols, source.numbers(cols));
      b.rms_norm(x, gain, 1e-5f, x);
      return std::vector{x};
    });
    compare(fmt::format("gated_head_norm {}", cols), [&](Backend& b) {
      Source source(cols);
      const Tensor o = upload(b, 2, 4 * cols, source.numbers(8 * cols));
      const Tensor gain = upload(b, 1, cols, source.numbers(cols));
      const Tensor gate = upload(b, 2, 4 * cols, source.numbers(8 * cols));
      b.gated_head_norm(o, gain, 1e-5f, gate, o);
      return std::vector{o};
    });
    compare(fmt::format("attn_residual {}", cols), [&](Backend& b) {
      Source source(cols);
      std::vector<Tensor> sources;
      for (int i = 0; i < 5; ++i) sources.push_back(upload(b, 3, cols, source.numbers(3 * cols)));
      const Tensor w = upload(b, 1, cols, source.numbers(cols)), y = b.allocate(3, cols);
      b.attn_residual(sources, w, 1e-5f, y);
      return std::vector{y};
    });
  }
}

TEST_P(BackendTest, Products) {
  for (const uint32_t cols : {1u, 24u, 64u, 257u, 640u}) {
    for (const uint32_t rows : {1u, 2u, 9u, 40u}) {
      compare(fmt::format("matmul {} x {}", rows, cols), [&](Backend& b) {
        Source source(cols * 100 + rows);
        const std::vector<std::byte> weights = source.bf16(size_t{50} * cols);
        const Tensor x = upload(b, rows, cols, source.numbers(size_t{rows} * cols)),
                     y = b.allocate(rows, 50);
        b.matmul(x, {weights.data(), 33, cols, 0}, y);
        b.matmul(x, {weights.data() + 2 * size_t{33} * cols, 17, cols, 33}, y);
        return std::vector{y};
      });
    }
  }
}

TEST_P(BackendTest, Activations) {
  compare("situ, mul_sigmoid, add, exp, decode", [](Backend& b) {
    Source source(5);
    const std::vector<std::byte> halves = source.bf16(300);
    Tensor g = upload(b, 3, 100, source.numbers(300)), u = upload(b, 3, 100, source.numbers(300));
    const Tensor decoded = b.allocate(3, 100), situ = b.allocate(3, 100),
                 power = b.allocate(3, 100);
    b.decode_bf16(halves, decoded);
    b.situ(g, u, {4, 25}, situ);
    b.exp(g, power);
    b.mul_sigmoid(g, u, g);
    b.add(situ, u);
    return std::vector{g, u, decoded, situ, power};
  });
}

TEST_P(BackendTest, KimiDeltaAttention) {
  for (const uint32_t d : {5u, 16u, 32u, 64u}) {
    compare(fmt::format("kda {}", d), [&](Backend& b) {
      Source source(d);
      const uint32_t heads = 3, rows = 6, width = heads * d;
      const auto random = [&](uint32_t r, uint32_t c) {
        return upload(b, r, c, source.numbers(size_t{r} * c));
      };
      const Tensor x = random(rows, width), taps = random(width, 4), history = random(3, width);
      const Tensor q = b.allocate(rows, width), o = b.allocate(rows, width),
                   state = random(width, d);
      b.short_conv(x, taps, history, q);
      b.kda({.heads = heads,
             .head_dim = d,
             .lower_bound = -5,
             .q = q,
             .k = random(rows, width),
             .v = random(rows, width),
             .z = random(rows, width),
             .dt_bias = random(1, width),
             .rate = random(1, heads),
             .beta = random(rows, heads),
             .state = state,
             .o = o});
      return std::vector{history, q, state, o};
    });
  }
}

TEST_P(BackendTest, MultiHeadLatentAttention) {
  compare("mla", [](Backend& b) {
    Source source(3);
    const MlaShape shape{.heads = 4, .nope = 24, .rope = 8, .value = 16, .latent = 40};
    const uint32_t rows = 5, position = 70, head_rows = shape.nope + shape.value;
    const std::vector<std::byte> kv_b = source.bf16(size_t{4} * head_rows * shape.latent);
    const Tensor cache = upload(b, 80, 48, source.numbers(80 * 48));
    const Tensor kv = upload(b, rows, 48, source.numbers(rows * 48)),
                 gain = upload(b, 1, 40, source.numbers(40));
    const Tensor query = upload(b, rows, 4 * 32, source.numbers(rows * 4 * 32)),
                 out = b.allocate(rows, 64);
    b.mla_cache_rows(kv, gain, 1e-6f, cache.slice(position, rows));
    // Two panels of whole heads, as a streamed matrix comes.
    b.mla_attend(shape, query, {kv_b.data(), 3 * head_rows, 40, 0}, cache, position, out);
    b.mla_attend(shape, query,
                 {kv_b.data() + size_t{3} * head_rows * 80, head_rows, 40, 3 * head_rows}, cache,
                 position, out);
    return std::vector{cache, out};
  });
}

TEST_P(BackendTest, MixtureOfExperts) {
  compare("moe", [](Backend& b) {
    Source source(8);
    const uint32_t latent = 96, hidden = 64, rows = 40, experts = 6;
    const Tensor scores = upload(b, rows, experts, source.numbers(rows * experts));
    const Tensor bias = upload(b, 1, experts, source.numbers(experts));
    Routes routes;
    b.route(scores, bias, {.k = 2}, routes);
    const Tensor x = upload(b, rows, latent, source.numbers(rows * latent));
    const Tensor slots = b.allocate(rows * 2, latent), y = b.allocate(rows, latent);
    std::vector<float> weights(routes.weights);
    for (const uint32_t e : routes.unique) {
      const auto codes = [&] { return source.bytes(size_t{hidden} * latent / 2); };
      const auto scales = [&] { return source.bytes(size_t{hidden} * latent / 32, 120, 126); };
      const auto c1 = codes(), c2 = codes(), c3 = codes(), s1 = scales(), s2 = scales(),
                 s3 = scales();
      std::vector<uint32_t> of_rows, of_slots;
      for (uint32_t pair = 0; pair < routes.experts.size(); ++pair) {
        if (routes.experts[pair] != e) continue;
        of_rows.push_back(pair / 2);
        of_slots.push_back(pair);
      }
      b.expert_ffn({}, {c1.data(), s1.data(), c3.data(), s3.data(), c2.data(), s2.data()}, hidden,
                   {4, 25}, of_rows, of_slots, x, slots);
    }
    b.combine(routes, slots, y);
    return std::vector{slots, y, upload(b, 1, rows * 2, weights)};
  });
}

TEST_P(BackendTest, RoutingTiesGoToTheLowestId) {
  const std::unique_ptr<Backend> backend = cpu(1);
  const Tensor scores = upload(*backend, 1, 5, std::vector<float>{1, 2, 1, 2, 2});
  Routes routes;
  backend->route(scores, backend->allocate(1, 5), {.k = 2}, routes);
  EXPECT_EQ(routes.experts, (std::vector<uint32_t>{1, 3}));
  EXPECT_FLOAT_EQ(routes.weights[0], 0.5f);
}

TEST_P(BackendTest, RoutingRefusesNaN) {
  const std::unique_ptr<Backend> backend = cpu(1);
  const Tensor scores = upload(*backend, 1, 3, std::vector<float>{1, std::nanf(""), 1});
  Routes routes;
  EXPECT_THROW(backend->route(scores, backend->allocate(1, 3), {.k = 2}, routes), Error);
}

std::vector<std::string> targets() {
  std::vector<std::string> names;
  for (const kernels::KernelTable* table : kernels::runnable_kernels())
    names.emplace_back(table->target);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Targets, BackendTest, testing::ValuesIn(targets()),
                         [](const auto& parameter) { return parameter.param; });

TEST(CpuBackend, RefusesAnUnknownTarget) {
  EXPECT_THROW(
      make_cpu_backend({.threads = 1, .target = "mmx", .columns_max = 8, .context_max = 8}), Error);
}

}  // namespace
}  // namespace sluice::backend
