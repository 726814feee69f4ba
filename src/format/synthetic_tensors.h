#pragma once
#include "format/safetensors_writer.h"
#include "format/synthetic_checkpoint.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::format {

/// How the numbers of a random tensor are drawn.
struct Fill {
  enum class Kind : uint8_t {
    kBf16,    ///< BF16, uniform with mean `a` and deviation `b`.
    kF32,     ///< F32, uniform in [a, b).
    kRates,   ///< F32, the first `count` entries uniform in [a, b), the others zero.
    kCodes,   ///< Random MXFP4 codes.
    kScales,  ///< E8M0 scales, a - 1, a or a + 1.
  };
  Kind kind = Kind::kBf16;
  float a = 0, b = 0;
  uint64_t count = 0;
};

struct SyntheticTensor {
  WriterTensor tensor;
  Fill fill;
};

/// One shard a layer, one with what belongs to no layer, two with the vision part.
[[nodiscard]] uint32_t synthetic_shard_count(const SyntheticShape& shape);

/// The tensors of a shard, in the order in which the released files hold them: wide dtypes first,
/// then by name.
[[nodiscard]] std::vector<SyntheticTensor> synthetic_shard(const SyntheticShape& shape,
                                                           uint32_t shard);

}  // namespace sluice::format
