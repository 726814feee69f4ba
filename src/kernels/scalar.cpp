#include "kernels/math.h"
#include "kernels/targets.h"

namespace sluice::kernels {
namespace {

using math::fused;
using math::is_nan;
using math::less;
using math::select;

constexpr size_t kLanes = 1;
constexpr size_t kMatmulRows = 4;

using Floats = float;
using Word = uint32_t;
struct Words {
  Word word[4];
};

inline Floats load(const float* p) { return *p; }
inline void store(float* p, Floats value) { *p = value; }
// One lane has no parts; the loops over vectors still name these.
inline Floats load_part(const float* p, size_t) { return *p; }
inline void store_part(float* p, Floats value, size_t) { *p = value; }
inline void prefetch(const uint8_t*, size_t) {}
inline float fold(Floats lanes) { return lanes; }

inline Floats load_bf16(const uint8_t* p) {
  uint16_t bits;
  memcpy(&bits, p, sizeof bits);
  return math::from_bits(static_cast<uint32_t>(bits) << 16);
}

inline Words load_words(const uint8_t* p) {
  Words words;
  memcpy(words.word, p, sizeof words.word);
  return words;
}

inline Floats low_bf16(Word word) { return math::from_bits(word << 16); }
inline Floats high_bf16(Word word) { return math::from_bits(word & 0xffff0000U); }

template <size_t kParity>
inline void decode_codes(Word word, Floats (&weight)[4]) {
  constexpr float kValues[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                 -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
  for (size_t b = 0; b < 4; ++b) weight[b] = kValues[word >> (8 * b + 4 * kParity) & 15U];
}

inline Floats load_scales(const uint8_t* p) {
  // 2^-127 is below the normal range: its exponent field is 0 and its first fraction bit is set.
  return math::from_bits(*p == 0 ? 0x00400000U : static_cast<uint32_t>(*p) << 23);
}

#include "kernels/matmul-inl.h"
#include "kernels/vectors-inl.h"

}  // namespace

const KernelTable kScalarKernels = table_of("scalar");

}  // namespace sluice::kernels
