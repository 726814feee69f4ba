#include "kernels/math.h"
#include "kernels/targets.h"

#include <immintrin.h>

namespace sluice::kernels {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kMatmulRows = 4;

struct Mask {
  __m256 v;
};
struct Floats {
  __m256 v;
  Floats() = default;
  explicit Floats(__m256 vector) : v(vector) {}
  explicit Floats(float value) : v(_mm256_set1_ps(value)) {}
};
using Word = __m256i;
struct Words {
  Word word[4];
};

inline Floats operator+(Floats a, Floats b) { return Floats(_mm256_add_ps(a.v, b.v)); }
inline Floats operator-(Floats a, Floats b) { return Floats(_mm256_sub_ps(a.v, b.v)); }
inline Floats operator*(Floats a, Floats b) { return Floats(_mm256_mul_ps(a.v, b.v)); }
inline Floats operator/(Floats a, Floats b) { return Floats(_mm256_div_ps(a.v, b.v)); }
inline Floats fused(Floats a, Floats b, Floats c) { return Floats(_mm256_fmadd_ps(a.v, b.v, c.v)); }
inline Mask less(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask is_nan(Floats a) { return {_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q)}; }
inline Floats select(Mask condition, Floats yes, Floats no) {
  return Floats(_mm256_blendv_ps(no.v, yes.v, condition.v));
}
inline Floats magnitude(Floats a) { return Floats(_mm256_andnot_ps(_mm256_set1_ps(-0.0F), a.v)); }
inline Floats with_sign(Floats a, Floats sign) {
  return Floats(_mm256_or_ps(a.v, _mm256_and_ps(sign.v, _mm256_set1_ps(-0.0F))));
}
inline Floats low_bits_as_exponent(Floats a) {
  return Floats(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.v), 23)));
}

inline __m256i first(size_t n) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index);
}
inline Floats load(const float* p) { return Floats(_mm256_loadu_ps(p)); }
inline void store(float* p, Floats value) { _mm256_storeu_ps(p, value.v); }
inline Floats load_part(const float* p, size_t n) {
  return Floats(_mm256_maskload_ps(p, first(n)));
}
inline void store_part(float* p, Floats value, size_t n) {
  _mm256_maskstore_ps(p, first(n), value.v);
}
inline Floats load_bf16(const uint8_t* p) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return Floats(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16)));
}
// Into the second level. The address may lie behind the end of an array, so it is made as a number.
inline void prefetch(const uint8_t* p, size_t offset) {
  _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(p) + offset), _MM_HINT_T1);
}

inline float fold(Floats lanes) {
  const __m128 four =
      _mm_add_ps(_mm256_castps256_ps128(lanes.v), _mm256_extractf128_ps(lanes.v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/// The bytes of lane i and, above them, of lane i + 4.
inline __m256i two_lanes(const uint8_t* p) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 64));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/// The 4 x 4 transpose of the words of eight lanes, lane order kept.
inline Words load_words(const uint8_t* p) {
  const __m256i a = two_lanes(p);
  const __m256i b = two_lanes(p + 16);
  const __m256i c = two_lanes(p + 32);
  const __m256i d = two_lanes(p + 48);
  const __m256i ab01 = _mm256_unpacklo_epi32(a, b);
  const __m256i ab23 = _mm256_unpackhi_epi32(a, b);
  const __m256i cd01 = _mm256_unpacklo_epi32(c, d);
  const __m256i cd23 = _mm256_unpackhi_epi32(c, d);
  return {{_mm256_unpacklo_epi64(ab01, cd01), _mm256_unpackhi_epi64(ab01, cd01),
           _mm256_unpacklo_epi64(ab23, cd23), _mm256_unpackhi_epi64(ab23, cd23)}};
}

inline Floats low_bf16(Word word) {
  return Floats(_mm256_castsi256_ps(_mm256_slli_epi32(word, 16)));
}
inline Floats high_bf16(Word word) {
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000U));
  return Floats(_mm256_castsi256_ps(_mm256_and_si256(word, high)));
}

inline __m256i sixteen_bytes_twice(long long low, long long high) {
  return _mm256_setr_epi64x(low, high, low, high);
}

/// Two look-ups of bytes give the upper and the lower byte of each code's BF16 value.
template <size_t kParity>
inline void decode_codes(Word word, Floats (&weight)[4]) {
  const __m256i upper_bytes =
      sixteen_bytes_twice(0x404040403f3f3f00LL, static_cast<long long>(0xc0c0c0c0bfbfbf80ULL));
  const __m256i lower_bytes = sixteen_bytes_twice(static_cast<long long>(0xc0804000c0800000ULL),
                                                  static_cast<long long>(0xc0804000c0800000ULL));
  const __m256i codes =
      _mm256_and_si256(kParity == 0 ? word : _mm256_srli_epi16(word, 4), _mm256_set1_epi8(15));
  const __m256i upper = _mm256_shuffle_epi8(upper_bytes, codes);
  const __m256i lower = _mm256_shuffle_epi8(lower_bytes, codes);
  const __m256i low_half = _mm256_set1_epi16(0x00ff);
  const __m256i bytes02 =
      _mm256_or_si256(_mm256_slli_epi16(upper, 8), _mm256_and_si256(lower, low_half));
  const __m256i bytes13 =
      _mm256_or_si256(_mm256_andnot_si256(low_half, upper), _mm256_srli_epi16(lower, 8));
  weight[0] = low_bf16(bytes02);
  weight[1] = low_bf16(bytes13);
  weight[2] = high_bf16(bytes02);
  weight[3] = high_bf16(bytes13);
}

inline Floats load_scales(const uint8_t* p) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 23);
  // Only 2^-127 lies below the normal range, and it is the smallest.
  return Floats(_mm256_castsi256_ps(_mm256_max_epu32(exponent, _mm256_set1_epi32(0x00400000))));
}

#include "kernels/matmul-inl.h"
#include "kernels/vectors-inl.h"

}  // namespace

const KernelTable kAvx2Kernels = table_of("avx2");

}  // namespace sluice::kernels
