#pragma once
#include "backend/backend.h"
#include "base/types.h"
#include "model/shape.h"

#include <cstdint>

namespace sluice::simulator {

/// How fast a processor computes a pass, in the few figures that decide it.
struct ComputeRates {
  double bf16 = 20e9;       ///< Bytes of BF16 weights a second, in a product with one row.
  double bf16_row = 0.2;    ///< What each further row takes, of the time of the first.
  double mxfp4 = 13e9;      ///< The same of experts.
  double mxfp4_row = 0.65;  ///< Likewise.
  double state = 10e9;      ///< Bytes of KDA state a second, each read and written once a row.
  double attention = 10e9;  ///< Multiplications a second of MLA over cached rows.
  double vector = 10e9;     ///< Bytes a second of what goes over activations alone.
  Nanos operation{2'000};   ///< What any operation takes beside that.
};

/// Measures this machine for a model of that shape, in some seconds. Of `options`, threads and
/// target count.
[[nodiscard]] ComputeRates measure_computing(const model::ModelShape& shape,
                                             backend::CpuOptions options);

}  // namespace sluice::simulator
