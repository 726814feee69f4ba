// Without these tests a vector entry could differ between instruction sets, reduce in another order
// than the one documented, or touch memory behind its arrays.
#include "kernels/testing.h"

#include <cmath>
#include <functional>
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

using testing::bits;
using testing::Guarded;
using testing::kSeed;
using testing::Random;

std::string name_of(const KernelTable& table, size_t n) {
  return std::string(table.target) + ", n " + std::to_string(n) + ", seed " + std::to_string(kSeed);
}

float tree_of(std::vector<float> lanes) {
  for (size_t n = 16; n > 0; n /= 2) {
    for (size_t i = 0; i < n; ++i) lanes[i] += lanes[i + n];
  }
  return lanes[0];
}

std::vector<uint8_t> bf16_bytes(const std::vector<float>& values) {
  std::vector<uint8_t> bytes;
  for (const float value : values) {
    bytes.push_back(static_cast<uint8_t>(math::to_bits(value) >> 16));
    bytes.push_back(static_cast<uint8_t>(math::to_bits(value) >> 24));
  }
  return bytes;
}
float bf16_at(const std::vector<uint8_t>& bytes, size_t i) {
  return math::from_bits(static_cast<uint32_t>(bytes[2 * i] | bytes[2 * i + 1] << 8) << 16);
}

constexpr size_t kLengths[] = {1,  2,  3,  4,  5,  7,  8,  9,   15,  16,  17,  31,
                               32, 33, 47, 48, 63, 64, 65, 100, 127, 128, 129, 200};

TEST(Vectors, ReductionsFollowTheDocumentedOrder) {
  Random random(kSeed);
  for (const bool special : {false, true}) {
    for (size_t n = 0; n <= 200; ++n) {
      const auto a = special ? random.specials(n) : random.values(n);
      const auto b = special ? random.specials(n) : random.values(n);
      std::vector<float> dots(32);
      std::vector<float> sums(32);
      for (size_t i = 0; i < (n + 31) / 32 * 32; ++i) {
        dots[i % 32] = std::fma(i < n ? a[i] : 0.0F, i < n ? b[i] : 0.0F, dots[i % 32]);
        sums[i % 32] += i < n ? a[i] : 0.0F;
      }
      const Guarded<float> ga(a);
      const Guarded<float> gb(b);
      for (const KernelTable* table : runnable_kernels()) {
        const float got[] = {table->dot(ga.data(), gb.data(), n), table->sum(ga.data(), n)};
        const float expected[] = {tree_of(dots), tree_of(sums)};
        EXPECT_EQ(bits(got), bits(expected)) << name_of(*table, n);
      }
    }
  }
}

// A lane becomes -0 when a negative product underflows; the padding of the last block makes it +0
// again.
TEST(Vectors, PaddingEndsMinusZero) {
  for (size_t n = 32; n <= 64; ++n) {
    const Guarded<float> a(std::vector<float>(n, -0x1p-100F));
    const Guarded<float> b(std::vector<float>(n, 0x1p-100F));
    for (const KernelTable* table : runnable_kernels()) {
      const float result = table->dot(a.data(), b.data(), n);
      EXPECT_EQ(result, 0.0F) << name_of(*table, n);
      EXPECT_EQ(std::signbit(result), n % 32 == 0) << name_of(*table, n);
    }
  }
}

TEST(Vectors, MaxIsTheLargestOrNan) {
  Random random(kSeed);
  const float nan = math::from_bits(0x7fc00000U);
  for (const size_t n : kLengths) {
    for (const KernelTable* table : runnable_kernels()) {
      std::vector<float> x = random.values(n);
      for (float& value : x) value = -std::fabs(value);
      for (size_t at = 0; at < n; ++at) {
        std::vector<float> y = x;
        y[at] = 1.5F;
        EXPECT_EQ(table->max(Guarded<float>(y).data(), n), 1.5F) << name_of(*table, n);
        y[at] = nan;
        EXPECT_TRUE(std::isnan(table->max(Guarded<float>(y).data(), n))) << name_of(*table, n);
        y[at] = -0.0F;
        EXPECT_FALSE(std::signbit(table->max(Guarded<float>(y).data(), n))) << name_of(*table, n);
      }
      const std::vector<float> lowest(n, -INFINITY);
      EXPECT_EQ(table->max(Guarded<float>(lowest).data(), n), -INFINITY) << name_of(*table, n);
    }
  }
}

/// An entry that maps elements, and what it should give.
struct Elementwise {
  const char* name;
  std::function<void(const KernelTable&, const float* a, const float* b, const uint8_t* w, float* y,
                     size_t n)>
      call;
  std::function<float(float a, float b, float w, float y)> expected;
};

const Elementwise kElementwise[] = {
    {"axpy", [](const auto& t, auto a, auto, auto, auto y, auto n) { t.axpy(1.25F, a, y, n); },
     [](float a, float, float, float y) { return std::fma(1.25F, a, y); }},
    {"axpy_bf16",
     [](const auto& t, auto, auto, auto w, auto y, auto n) { t.axpy_bf16(-3.7F, w, y, n); },
     [](float, float, float w, float y) { return std::fma(-3.7F, w, y); }},
    {"decode_bf16",
     [](const auto& t, auto, auto, auto w, auto y, auto n) { t.decode_bf16(w, y, n); },
     [](float, float, float w, float) { return w; }},
    {"scale_gain",
     [](const auto& t, auto a, auto b, auto, auto y, auto n) { t.scale_gain(a, 0.3F, b, y, n); },
     [](float a, float b, float, float) { return (a * 0.3F) * b; }},
    {"scale", [](const auto& t, auto a, auto, auto, auto y, auto n) { t.scale(a, 0.3F, y, n); },
     [](float a, float, float, float) { return a * 0.3F; }},
    {"scale in place",
     [](const auto& t, auto, auto, auto, auto y, auto n) { t.scale(y, 0.7F, y, n); },
     [](float, float, float, float y) { return y * 0.7F; }},
    {"add", [](const auto& t, auto a, auto, auto, auto y, auto n) { t.add(a, y, n); },
     [](float a, float, float, float y) { return y + a; }},
    {"mul_sigmoid",
     [](const auto& t, auto a, auto b, auto, auto y, auto n) { t.mul_sigmoid(a, b, y, n); },
     [](float a, float b, float, float) { return a * math::sigmoid(b); }},
    {"sigmoid", [](const auto& t, auto a, auto, auto, auto y, auto n) { t.sigmoid(a, y, n); },
     [](float a, float, float, float) { return math::sigmoid(a); }},
    {"exp_shifted",
     [](const auto& t, auto, auto, auto, auto y, auto n) { t.exp_shifted(y, 2.5F, n); },
     [](float, float, float, float y) { return math::exp(y - 2.5F); }},
    {"situ",
     [](const auto& t, auto a, auto b, auto, auto y, auto n) { t.situ(a, b, 4.0F, 25.0F, y, n); },
     [](float a, float b, float, float) {
       return ((4.0F * math::tanh(a / 4.0F)) * math::sigmoid(a)) * (25.0F * math::tanh(b / 25.0F));
     }},
    {"kda_decay",
     [](const auto& t, auto a, auto b, auto, auto y, auto n) {
       t.kda_decay(a, b, 1.5F, -5.0F, y, n);
     },
     [](float a, float b, float, float) {
       return math::exp(-5.0F * math::sigmoid(1.5F * (a + b)));
     }},
};

TEST(Vectors, ElementwiseEntriesFollowTheirFormulas) {
  Random random(kSeed);
  for (const Elementwise& entry : kElementwise) {
    for (const bool special : {false, true}) {
      for (const size_t n : kLengths) {
        const Guarded<float> a(special ? random.specials(n) : random.values(n));
        const Guarded<float> b(special ? random.specials(n) : random.values(n));
        const std::vector<float> y = special ? random.specials(n) : random.values(n);
        const std::vector<uint8_t> bytes = bf16_bytes(random.values(n));
        const Guarded<uint8_t> w(bytes);
        std::vector<float> expected;
        for (size_t i = 0; i < n; ++i) {
          expected.push_back(entry.expected(a.data()[i], b.data()[i], bf16_at(bytes, i), y[i]));
        }
        for (const KernelTable* table : runnable_kernels()) {
          Guarded<float> result(y);
          entry.call(*table, a.data(), b.data(), w.data(), result.data(), n);
          EXPECT_EQ(bits(result.values()), bits(expected))
              << entry.name << ", " << name_of(*table, n);
        }
      }
    }
  }
}

TEST(Vectors, ShortConvIsOneChainOverTheTaps) {
  Random random(kSeed);
  for (const size_t width : std::initializer_list<size_t>{1, 2, 3, 4, 5, 7}) {
    for (const size_t n : kLengths) {
      const Guarded<float> taps(random.values(n * width));
      const Guarded<float> history(random.values(n * (width - 1)));
      const Guarded<float> x(random.values(n));
      std::vector<float> expected;
      for (size_t c = 0; c < n; ++c) {
        float sum = 0.0F;
        for (size_t j = 0; j < width; ++j) {
          const float input = j + 1 < width ? history.data()[j * n + c] : x.data()[c];
          sum = std::fma(taps.data()[c * width + j], input, sum);
        }
        expected.push_back(sum * math::sigmoid(sum));
      }
      for (const KernelTable* table : runnable_kernels()) {
        Guarded<float> y(n);
        table->short_conv(taps.data(), history.data(), x.data(), width, y.data(), n);
        EXPECT_EQ(bits(y.values()), bits(expected)) << width << " taps, " << name_of(*table, n);
      }
    }
  }
}

/// One token by the definition: first in double, then in the documented order.
struct KdaCase {
  size_t dk, dv;
  std::vector<float> state, q, k, v, decay;
  float beta = 0.8F;

  KdaCase(Random& random, size_t keys, size_t values)
      : dk(keys),
        dv(values),
        state(random.values(keys * values)),
        q(random.values(keys)),
        k(random.values(keys)),
        v(random.values(values)),
        decay(random.values(keys)) {
    for (float& x : decay) x = math::sigmoid(x);
    for (float& x : k) x *= 0.05F;
  }

  template <class Real, class Fma>
  void step(Fma fma, std::vector<Real>& s, std::vector<Real>& o) const {
    o.assign(dv, 0);
    for (size_t j = 0; j < dv; ++j) {
      Real u = 0;
      for (size_t i = 0; i < dk; ++i) {
        s[i * dv + j] *= static_cast<Real>(decay[i]);
        u = fma(static_cast<Real>(k[i]), s[i * dv + j], u);
      }
      const Real change = static_cast<Real>(beta) * (static_cast<Real>(v[j]) - u);
      for (size_t i = 0; i < dk; ++i) {
        s[i * dv + j] = fma(static_cast<Real>(k[i]), change, s[i * dv + j]);
        o[j] = fma(static_cast<Real>(q[i]), s[i * dv + j], o[j]);
      }
    }
  }
};

TEST(Vectors, KdaStepIsTheGatedDeltaRule) {
  Random random(kSeed);
  const auto float_fma = [](float a, float b, float c) { return std::fma(a, b, c); };
  const auto double_fma = [](double a, double b, double c) { return a * b + c; };
  for (const size_t dk : std::initializer_list<size_t>{1, 5, 16, 128}) {
    for (const size_t dv : std::initializer_list<size_t>{1, 3, 8, 16, 31, 64, 100, 128, 200, 259}) {
      const KdaCase c(random, dk, dv);
      std::vector<float> state = c.state;
      std::vector<float> o;
      c.step<float>(float_fma, state, o);
      std::vector<double> exact(c.state.begin(), c.state.end());
      std::vector<double> exact_o;
      c.step<double>(double_fma, exact, exact_o);
      for (size_t j = 0; j < dv; ++j) {
        double size = 0;
        for (size_t i = 0; i < dk; ++i) {
          const auto cell = static_cast<size_t>(i * dv + j);
          size += std::fabs(static_cast<double>(c.q[i])) *
                  (std::fabs(exact[cell]) + std::fabs(static_cast<double>(c.state[cell])) + 16);
        }
        EXPECT_NEAR(static_cast<double>(o[j]), exact_o[j],
                    static_cast<double>(2 * dk + 8) * 0x1p-24 * size);
      }
      for (const KernelTable* table : runnable_kernels()) {
        Guarded<float> result(c.state);
        Guarded<float> scratch(dv);
        Guarded<float> out(dv);
        table->kda_step(result.data(), Guarded<float>(c.q).data(), Guarded<float>(c.k).data(),
                        Guarded<float>(c.v).data(), Guarded<float>(c.decay).data(), c.beta, dk, dv,
                        scratch.data(), out.data());
        EXPECT_EQ(bits(out.values()), bits(o)) << "keys " << dk << ", " << name_of(*table, dv);
        EXPECT_EQ(bits(result.values()), bits(state))
            << "keys " << dk << ", " << name_of(*table, dv);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::kernels
