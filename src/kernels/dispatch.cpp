#include "kernels/targets.h"

#include <array>

namespace sluice::kernels {
namespace {

/// The tables of this build that this processor runs.
class Runnable {
 public:
  Runnable() {
    add(kScalarKernels);
#if defined(__x86_64__)
    // These follow CPUID as the program sees it (also under emulators and valgrind) and ask the
    // operating system whether it saves the wide registers.
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2) add(kAvx2Kernels);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      add(kAvx512Kernels);
    }
#elif defined(__aarch64__)
    add(kNeonKernels);
#endif
  }

  [[nodiscard]] std::span<const KernelTable* const> tables() const {
    return std::span(tables_).first(count_);
  }

 private:
  void add(const KernelTable& table) { tables_[count_++] = &table; }

  std::array<const KernelTable*, 4> tables_{};
  size_t count_ = 0;
};

}  // namespace

std::span<const KernelTable* const> runnable_kernels() {
  static const Runnable runnable;
  return runnable.tables();
}

const KernelTable& best_kernels() { return *runnable_kernels().back(); }

const KernelTable* find_kernels(std::string_view target) {
  for (const KernelTable* table : runnable_kernels()) {
    if (table->target == target) return table;
  }
  return nullptr;
}

}  // namespace sluice::kernels
