#pragma once
#include "kernels/kernel_table.h"

#include <cstdint>

namespace sluice::kernels {

/// A hash over the bits that every entry of `table` gives for fixed pseudo-random inputs, about a
/// megabyte of them. Machines that print kFingerprint agree to the bit.
[[nodiscard]] uint64_t fingerprint(const KernelTable& table);

/// What every table of every build has. It changes only when an order or formula of
/// docs/numerics.md does.
inline constexpr uint64_t kFingerprint = 0x77fbcd560a384ce2U;

}  // namespace sluice::kernels
