// Without these tests exp, sigmoid and tanh could lose accuracy somewhere in their range, or their
// exact limits.
#include "kernels/testing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sluice::kernels {
namespace {

using testing::bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A float from every `stride` of all bit patterns, NaNs left out.
std::vector<float> sample(uint32_t stride) {
  std::vector<float> values;
  for (uint64_t pattern = 0; pattern <= 0xffffffffU; pattern += stride) {
    const float value = math::from_bits(static_cast<uint32_t>(pattern));
    if (value == value) values.push_back(value);
  }
  return values;
}

/// The distance of `got` from `exact` in units of the last place that a float has there.
double ulps(float got, double exact) {
  if (std::isinf(got)) {  // Right when the exact value rounds to infinity too.
    return std::fabs(exact) >= 0x1.ffffffp127 && (got > 0) == (exact > 0) ? 0.0 : 1e9;
  }
  const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
  return std::fabs(static_cast<double>(got) - exact) / std::ldexp(1.0, exponent - 23);
}

double worst(const std::vector<float>& x, const std::vector<float>& y, double (*exact)(double)) {
  double result = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = ulps(y[i], exact(static_cast<double>(x[i])));
    if (!(off <= result)) result = off;
  }
  return result;
}

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Math, IsAccurateOverTheWholeRange) {
  const std::vector<float> x = sample(9973);
  const KernelTable& table = best_kernels();
  std::vector<float> y = x;
  table.exp_shifted(y.data(), 0.0F, y.size());
  EXPECT_LT(worst(x, y, [](double v) { return std::exp(v); }), 1.5);
  table.sigmoid(x.data(), y.data(), x.size());
  EXPECT_LT(worst(x, y, exact_sigmoid), 3.0);
  std::ranges::transform(x, y.begin(), [](float v) { return math::tanh(v); });
  EXPECT_LT(worst(x, y, [](double v) { return std::tanh(v); }), 3.0);
}

TEST(Math, IsAccurateWhereTheResultsMove) {
  std::vector<float> x;
  for (int i = -400000; i <= 400000; ++i) x.push_back(static_cast<float>(i) * 0.00026F);
  const KernelTable& table = best_kernels();
  std::vector<float> y = x;
  table.exp_shifted(y.data(), 0.0F, y.size());
  EXPECT_LT(worst(x, y, [](double v) { return std::exp(v); }), 1.5);
  table.sigmoid(x.data(), y.data(), x.size());
  EXPECT_LT(worst(x, y, exact_sigmoid), 3.0);
  std::ranges::transform(x, y.begin(), [](float v) { return math::tanh(v * 0.1F); });
  std::ranges::transform(x, x.begin(), [](float v) { return v * 0.1F; });
  EXPECT_LT(worst(x, y, [](double v) { return std::tanh(v); }), 3.0);
}

TEST(Math, EveryTargetGivesTheSameBitsOverTheWholeRange) {
  const std::vector<float> x = sample(40009);
  std::vector<float> other(x.rbegin(), x.rend());
  std::vector<std::vector<uint32_t>> scalar;
  for (const KernelTable* table : runnable_kernels()) {
    std::vector<float> exps = x;
    table->exp_shifted(exps.data(), 0.0F, x.size());
    std::vector<float> sigmoids(x.size());
    table->sigmoid(x.data(), sigmoids.data(), x.size());
    std::vector<float> situs(x.size());
    table->situ(x.data(), other.data(), 4.0F, 25.0F, situs.data(), x.size());
    const std::vector<std::vector<uint32_t>> all = {bits(exps), bits(sigmoids), bits(situs)};
    if (scalar.empty()) scalar = all;
    EXPECT_TRUE(all == scalar) << table->target;
  }
}

TEST(Math, LimitsAreExact) {
  EXPECT_EQ(math::exp(0.0F), 1.0F);
  EXPECT_EQ(math::exp(-kInfinity), 0.0F);
  EXPECT_EQ(math::exp(-104.0F), 0.0F);
  EXPECT_EQ(math::exp(-103.5F), 0x1p-149F);
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(89.0F), kInfinity);
  EXPECT_EQ(math::sigmoid(0.0F), 0.5F);
  EXPECT_EQ(math::sigmoid(-kInfinity), 0.0F);
  EXPECT_EQ(math::sigmoid(kInfinity), 1.0F);
  for (const float sign : {1.0F, -1.0F}) {
    EXPECT_EQ(math::tanh(sign * kInfinity), sign);
    EXPECT_EQ(math::tanh(sign * 3e38F), sign);
    EXPECT_EQ(math::tanh(sign * 9.5F), sign);
    EXPECT_EQ(math::tanh(sign * 0x1p-149F), sign * 0x1p-149F);
    EXPECT_EQ(std::signbit(math::tanh(sign * 0.0F)), sign < 0);
    EXPECT_EQ(math::tanh(sign * 0.0F), 0.0F);
  }
}

TEST(Math, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const KernelTable* table : runnable_kernels()) {
    std::vector<float> x(37, nan);
    std::vector<float> y(37);
    table->sigmoid(x.data(), y.data(), x.size());
    EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isnan(v); })) << table->target;
    table->situ(x.data(), x.data(), 4.0F, 25.0F, y.data(), x.size());
    EXPECT_TRUE(std::ranges::all_of(y, [](float v) { return std::isnan(v); })) << table->target;
    table->exp_shifted(x.data(), 0.0F, x.size());
    EXPECT_TRUE(std::ranges::all_of(x, [](float v) { return std::isnan(v); })) << table->target;
  }
}

}  // namespace
}  // namespace sluice::kernels
