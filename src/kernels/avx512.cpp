#include "kernels/math.h"
#include "kernels/targets.h"

#include <immintrin.h>

namespace sluice::kernels {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kMatmulRows = 8;

struct Mask {
  __mmask16 bits;
};
struct Floats {
  __m512 v;
  Floats() = default;
  explicit Floats(__m512 vector) : v(vector) {}
  explicit Floats(float value) : v(_mm512_set1_ps(value)) {}
};
using Word = __m512i;
struct Words {
  Word word[4];
};

inline Floats operator+(Floats a, Floats b) { return Floats(_mm512_add_ps(a.v, b.v)); }
inline Floats operator-(Floats a, Floats b) { return Floats(_mm512_sub_ps(a.v, b.v)); }
inline Floats operator*(Floats a, Floats b) { return Floats(_mm512_mul_ps(a.v, b.v)); }
inline Floats operator/(Floats a, Floats b) { return Floats(_mm512_div_ps(a.v, b.v)); }
inline Floats fused(Floats a, Floats b, Floats c) { return Floats(_mm512_fmadd_ps(a.v, b.v, c.v)); }
inline Mask less(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask is_nan(Floats a) { return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)}; }
inline Floats select(Mask condition, Floats yes, Floats no) {
  return Floats(_mm512_mask_blend_ps(condition.bits, no.v, yes.v));
}
inline Floats magnitude(Floats a) {
  return Floats(_mm512_and_ps(a.v, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff))));
}
inline Floats with_sign(Floats a, Floats sign) {
  return Floats(_mm512_or_ps(a.v, _mm512_and_ps(sign.v, _mm512_set1_ps(-0.0F))));
}
inline Floats low_bits_as_exponent(Floats a) {
  return Floats(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a.v), 23)));
}

inline __mmask16 first(size_t n) { return static_cast<__mmask16>((1U << n) - 1U); }
inline Floats load(const float* p) { return Floats(_mm512_loadu_ps(p)); }
inline void store(float* p, Floats value) { _mm512_storeu_ps(p, value.v); }
inline Floats load_part(const float* p, size_t n) {
  return Floats(_mm512_maskz_loadu_ps(first(n), p));
}
inline void store_part(float* p, Floats value, size_t n) {
  _mm512_mask_storeu_ps(p, first(n), value.v);
}
inline Floats load_bf16(const uint8_t* p) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return Floats(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16)));
}
// Into the second level. The address may lie behind the end of an array, so it is made as a number.
inline void prefetch(const uint8_t* p, size_t offset) {
  _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(p) + offset), _MM_HINT_T1);
}

inline float fold(Floats lanes) {
  const __m256 eight =
      _mm256_add_ps(_mm512_castps512_ps256(lanes.v), _mm512_extractf32x8_ps(lanes.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/// The 4 x 4 transpose of the words of sixteen lanes, lane order kept.
inline Words load_words(const uint8_t* p) {
  const __m512i low = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 1, 5, 9, 13, 17, 21, 25, 29);
  const __m512i high =
      _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31);
  const __m512i a = _mm512_loadu_si512(p);
  const __m512i b = _mm512_loadu_si512(p + 64);
  const __m512i c = _mm512_loadu_si512(p + 128);
  const __m512i d = _mm512_loadu_si512(p + 192);
  const __m512i ab01 = _mm512_permutex2var_epi32(a, low, b);
  const __m512i ab23 = _mm512_permutex2var_epi32(a, high, b);
  const __m512i cd01 = _mm512_permutex2var_epi32(c, low, d);
  const __m512i cd23 = _mm512_permutex2var_epi32(c, high, d);
  return {{_mm512_shuffle_i64x2(ab01, cd01, 0x44), _mm512_shuffle_i64x2(ab01, cd01, 0xee),
           _mm512_shuffle_i64x2(ab23, cd23, 0x44), _mm512_shuffle_i64x2(ab23, cd23, 0xee)}};
}

inline Floats low_bf16(Word word) {
  return Floats(_mm512_castsi512_ps(_mm512_slli_epi32(word, 16)));
}
inline Floats high_bf16(Word word) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000U));
  return Floats(_mm512_castsi512_ps(_mm512_and_si512(word, high)));
}

/// One look-up of 16-bit words finds the BF16 values of two codes. It takes five bits of index, the
/// fifth of which belongs to the next code, so the table stands there twice.
template <size_t kParity>
inline void decode_codes(Word word, Floats (&weight)[4]) {
  const __m512i values = _mm512_broadcast_i64x4(_mm256_setr_epi16(
      0x0000, 0x3f00, 0x3f80, 0x3fc0, 0x4000, 0x4040, 0x4080, 0x40c0, static_cast<short>(0x8000),
      static_cast<short>(0xbf00), static_cast<short>(0xbf80), static_cast<short>(0xbfc0),
      static_cast<short>(0xc000), static_cast<short>(0xc040), static_cast<short>(0xc080),
      static_cast<short>(0xc0c0)));
  const __m512i bytes02 =
      _mm512_permutexvar_epi16(kParity == 0 ? word : _mm512_srli_epi32(word, 4), values);
  const __m512i bytes13 =
      _mm512_permutexvar_epi16(_mm512_srli_epi32(word, 8 + 4 * kParity), values);
  weight[0] = low_bf16(bytes02);
  weight[1] = low_bf16(bytes13);
  weight[2] = high_bf16(bytes02);
  weight[3] = high_bf16(bytes13);
}

inline Floats load_scales(const uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m512i exponent = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23);
  // Only 2^-127 lies below the normal range, and it is the smallest.
  return Floats(_mm512_castsi512_ps(_mm512_max_epu32(exponent, _mm512_set1_epi32(0x00400000))));
}

#include "kernels/matmul-inl.h"
#include "kernels/vectors-inl.h"

}  // namespace

const KernelTable kAvx512Kernels = table_of("avx512");

}  // namespace sluice::kernels
