#pragma once
#include "kernels/kernel_table.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

/// The tables of this build, one source file each. Such a file defines, in its unnamed namespace:
///
///   kLanes       floats in a vector; kMatmulRows, the activation rows that its registers can serve
///   at once Floats       a vector with + - * /, made from a float in every lane or left unset
///   load, store, load_part, store_part (the first n floats), load_bf16, prefetch
///   fused, less, is_nan, select, magnitude, with_sign, low_bits_as_exponent (meaning: math.h)
///   fold         the end of the tree over one vector
///   Word, Words, load_words   16 bytes of a row per lane; word[k] holds bytes 4k .. 4k + 3 of
///   every lane low_bf16, high_bf16       the two BF16 values of a Word decode_codes<parity> the
///   four even or odd columns of the MXFP4 codes in a Word load_scales               E8M0 bytes as
///   floats
///
/// and then includes matmul-inl.h and vectors-inl.h. It may not call functions that other files
/// could also emit (standard templates, inline functions of headers): the linker keeps one copy,
/// and if that one were compiled for a newer processor the program would fail on an older one.
namespace sluice::kernels {

inline constexpr size_t kOrderLanes = 32;

extern const KernelTable kScalarKernels;
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kNeonKernels;

}  // namespace sluice::kernels
