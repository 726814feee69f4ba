#pragma once
#include <cstdint>
#include <cstring>
#include <math.h>

/// What a device compiler wants in front of a function; the host needs nothing.
#ifndef SLUICE_HD
#define SLUICE_HD
#endif

/// exp, sigmoid, tanh and what is built of them, from IEEE operations and FMA only, so that every
/// processor gives the same bits (docs/numerics.md). F is float, or a vector type that has the
/// operators + - * /, construction from float, and the functions of the float section below, found
/// by its namespace. Everything is static: a file compiled for one instruction set must not lend
/// its code to the others.
namespace sluice::kernels::math {

// --- float
// -----------------------------------------------------------------------------------------------

SLUICE_HD static inline float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
SLUICE_HD static inline uint32_t to_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
/// a * b + c, rounded once.
SLUICE_HD static inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
SLUICE_HD static inline bool less(float a, float b) { return a < b; }
SLUICE_HD static inline bool is_nan(float a) { return a != a; }
SLUICE_HD static inline float select(bool condition, float yes, float no) {
  return condition ? yes : no;
}
SLUICE_HD static inline float magnitude(float a) { return from_bits(to_bits(a) & 0x7fffffffU); }
/// The magnitude of `a` with the sign of `sign`; `a` is not negative.
SLUICE_HD static inline float with_sign(float a, float sign) {
  return from_bits(to_bits(a) | (to_bits(sign) & 0x80000000U));
}
/// The lowest nine bits of `a` as sign and exponent of a float.
SLUICE_HD static inline float low_bits_as_exponent(float a) { return from_bits(to_bits(a) << 23); }

// --- Any F
// -----------------------------------------------------------------------------------------------

/// 1.5 * 2^23: a float near it has a spacing of 1, so adding it rounds to an integer, which then
/// stands in the lowest bits.
inline constexpr float kRounder = 12582912.0F;
inline constexpr float kExponentBias = 127.0F;

/// 2^n for an integral n in -126 .. 127.
template <class F>
SLUICE_HD static inline F power_of_two(F n) {
  return low_bits_as_exponent(n + F(kRounder + kExponentBias));
}

/// x = n ln 2 + r with n integral and |r| <= ln 2 / 2 but for rounding.
template <class F>
struct Reduced {
  F n, r;
};

template <class F>
SLUICE_HD static inline Reduced<F> reduce(F x) {
  const F n = fused(x, F(0x1.715476p+0F), F(kRounder)) - F(kRounder);  // 1 / ln 2
  // ln 2 in two parts. The first product cancels without error because n has at most eight bits.
  const F r = fused(n, F(-0x1.62e43p-1F), x);
  return {n, fused(n, F(0x1.05c61p-29F), r)};
}

/// e^r - 1 for a reduced r: r + r^2 q(r), q minimax for the relative error (2^-28.7 with these
/// coefficients).
template <class F>
SLUICE_HD static inline F reduced_expm1(F r) {
  F q = F(0x1.a032b6p-13F);
  q = fused(q, r, F(0x1.6d723cp-10F));
  q = fused(q, r, F(0x1.11118ap-7F));
  q = fused(q, r, F(0x1.5554bp-5F));
  q = fused(q, r, F(0x1.555554p-3F));
  q = fused(q, r, F(0.5F));
  return fused(r * r, q, r);
}

/// e^x. Results below the normal range are rounded once; 0 from -104 down, infinity above 88.72.
template <class F>
SLUICE_HD static inline F exp(F x) {
  // Comparisons are false for NaN, so that it stays and propagates.
  x = select(less(x, F(-104.0F)), F(-104.0F), x);
  x = select(less(F(89.0F), x), F(89.0F), x);
  const Reduced<F> part = reduce(x);
  // 2^n in two factors: n reaches 128 and -150, where one float could not hold it.
  const F half = fused(part.n, F(0.5F), F(kRounder)) - F(kRounder);
  const F value = reduced_expm1(part.r) + F(1.0F);
  return (value * power_of_two(half)) * power_of_two(part.n - half);
}

/// 1 / (1 + e^-x), as e^x / (1 + e^x) for negative x so that the smallest results stay exact.
template <class F>
SLUICE_HD static inline F sigmoid(F x) {
  const F e = math::exp(F(0.0F) - magnitude(x));
  return select(less(x, F(0.0F)), e, F(1.0F)) / (F(1.0F) + e);
}

/// m / (m + 2) with m = e^2|x| - 1, under the sign of x. Exactly 1 from 10 up.
template <class F>
SLUICE_HD static inline F tanh(F x) {
  const F size = magnitude(x);
  const F y = select(less(F(10.0F), size), F(10.0F), size) * F(2.0F);
  const Reduced<F> part = reduce(y);
  const F power = power_of_two(part.n);
  const F m = fused(power, reduced_expm1(part.r), power - F(1.0F));
  return with_sign(m / (m + F(2.0F)), x);
}

template <class F>
SLUICE_HD static inline F silu(F x) {
  return x * math::sigmoid(x);
}

/// SiTU: (beta tanh(g / beta) sigmoid(g)) * (linear_beta tanh(u / linear_beta)).
template <class F>
SLUICE_HD static inline F situ(F g, F u, F beta, F linear_beta) {
  const F gate = (beta * math::tanh(g / beta)) * math::sigmoid(g);
  return gate * (linear_beta * math::tanh(u / linear_beta));
}

}  // namespace sluice::kernels::math
