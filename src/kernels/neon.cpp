#include "kernels/math.h"
#include "kernels/targets.h"

#include <arm_neon.h>

namespace sluice::kernels {
namespace {

constexpr size_t kLanes = 4;
constexpr size_t kMatmulRows = 8;

struct Mask {
  uint32x4_t v;
};
struct Floats {
  float32x4_t v;
  Floats() = default;
  explicit Floats(float32x4_t vector) : v(vector) {}
  explicit Floats(float value) : v(vdupq_n_f32(value)) {}
};
using Word = uint32x4_t;
struct Words {
  Word word[4];
};

inline Floats operator+(Floats a, Floats b) { return Floats(vaddq_f32(a.v, b.v)); }
inline Floats operator-(Floats a, Floats b) { return Floats(vsubq_f32(a.v, b.v)); }
inline Floats operator*(Floats a, Floats b) { return Floats(vmulq_f32(a.v, b.v)); }
inline Floats operator/(Floats a, Floats b) { return Floats(vdivq_f32(a.v, b.v)); }
inline Floats fused(Floats a, Floats b, Floats c) { return Floats(vfmaq_f32(c.v, a.v, b.v)); }
inline Mask less(Floats a, Floats b) { return {vcltq_f32(a.v, b.v)}; }
inline Mask is_nan(Floats a) { return {vmvnq_u32(vceqq_f32(a.v, a.v))}; }
inline Floats select(Mask condition, Floats yes, Floats no) {
  return Floats(vbslq_f32(condition.v, yes.v, no.v));
}
inline Floats magnitude(Floats a) { return Floats(vabsq_f32(a.v)); }
inline Floats with_sign(Floats a, Floats sign) {
  return Floats(vbslq_f32(vdupq_n_u32(0x80000000U), sign.v, a.v));
}
inline Floats low_bits_as_exponent(Floats a) {
  return Floats(vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(a.v), 23)));
}

inline Floats load(const float* p) { return Floats(vld1q_f32(p)); }
inline void store(float* p, Floats value) { vst1q_f32(p, value.v); }
inline Floats load_part(const float* p, size_t n) {
  float padded[kLanes] = {};
  memcpy(padded, p, n * sizeof(float));
  return load(padded);
}
inline void store_part(float* p, Floats value, size_t n) {
  float all[kLanes];
  store(all, value);
  memcpy(p, all, n * sizeof(float));
}
inline Floats load_bf16(const uint8_t* p) {
  const uint16x4_t halves = vreinterpret_u16_u8(vld1_u8(p));
  return Floats(vreinterpretq_f32_u32(vshll_n_u16(halves, 16)));
}
// Into the second level. The address may lie behind the end of an array, so it is made as a number.
inline void prefetch(const uint8_t* p, size_t offset) {
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(p) + offset), 0, 2);
}

inline float fold(Floats lanes) {
  const float32x2_t two = vadd_f32(vget_low_f32(lanes.v), vget_high_f32(lanes.v));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

/// The 4 x 4 transpose of the words of four lanes.
inline Words load_words(const uint8_t* p) {
  const uint32x4_t a = vreinterpretq_u32_u8(vld1q_u8(p));
  const uint32x4_t b = vreinterpretq_u32_u8(vld1q_u8(p + 16));
  const uint32x4_t c = vreinterpretq_u32_u8(vld1q_u8(p + 32));
  const uint32x4_t d = vreinterpretq_u32_u8(vld1q_u8(p + 48));
  const uint64x2_t ab01 = vreinterpretq_u64_u32(vzip1q_u32(a, b));
  const uint64x2_t ab23 = vreinterpretq_u64_u32(vzip2q_u32(a, b));
  const uint64x2_t cd01 = vreinterpretq_u64_u32(vzip1q_u32(c, d));
  const uint64x2_t cd23 = vreinterpretq_u64_u32(vzip2q_u32(c, d));
  return {{vreinterpretq_u32_u64(vzip1q_u64(ab01, cd01)),
           vreinterpretq_u32_u64(vzip2q_u64(ab01, cd01)),
           vreinterpretq_u32_u64(vzip1q_u64(ab23, cd23)),
           vreinterpretq_u32_u64(vzip2q_u64(ab23, cd23))}};
}

inline Floats low_bf16(Word word) { return Floats(vreinterpretq_f32_u32(vshlq_n_u32(word, 16))); }
inline Floats high_bf16(Word word) {
  return Floats(vreinterpretq_f32_u32(vandq_u32(word, vdupq_n_u32(0xffff0000U))));
}

/// Two look-ups of bytes give the upper and the lower byte of each code's BF16 value.
template <size_t kParity>
inline void decode_codes(Word word, Floats (&weight)[4]) {
  const uint8x16_t upper_bytes = {0x00, 0x3f, 0x3f, 0x3f, 0x40, 0x40, 0x40, 0x40,
                                  0x80, 0xbf, 0xbf, 0xbf, 0xc0, 0xc0, 0xc0, 0xc0};
  const uint8x16_t lower_bytes = {0x00, 0x00, 0x80, 0xc0, 0x00, 0x40, 0x80, 0xc0,
                                  0x00, 0x00, 0x80, 0xc0, 0x00, 0x40, 0x80, 0xc0};
  const uint8x16_t bytes = vreinterpretq_u8_u32(word);
  const uint8x16_t codes = kParity == 0 ? vandq_u8(bytes, vdupq_n_u8(15)) : vshrq_n_u8(bytes, 4);
  const uint16x8_t upper = vreinterpretq_u16_u8(vqtbl1q_u8(upper_bytes, codes));
  const uint16x8_t lower = vreinterpretq_u16_u8(vqtbl1q_u8(lower_bytes, codes));
  const uint32x4_t bytes02 = vreinterpretq_u32_u16(vsliq_n_u16(lower, upper, 8));
  const uint32x4_t bytes13 = vreinterpretq_u32_u16(vsriq_n_u16(upper, lower, 8));
  weight[0] = low_bf16(bytes02);
  weight[1] = low_bf16(bytes13);
  weight[2] = high_bf16(bytes02);
  weight[3] = high_bf16(bytes13);
}

inline Floats load_scales(const uint8_t* p) {
  uint32_t four;
  memcpy(&four, p, sizeof four);
  const uint16x8_t wide = vmovl_u8(vcreate_u8(four));
  const uint32x4_t exponent = vshlq_n_u32(vmovl_u16(vget_low_u16(wide)), 23);
  // Only 2^-127 lies below the normal range, and it is the smallest.
  return Floats(vreinterpretq_f32_u32(vmaxq_u32(exponent, vdupq_n_u32(0x00400000U))));
}

#include "kernels/matmul-inl.h"
#include "kernels/vectors-inl.h"

}  // namespace

const KernelTable kNeonKernels = table_of("neon");

}  // namespace sluice::kernels
