#pragma once
#include "base/thread_pool.h"
#include "base/types.h"

#include <cstdint>
#include <span>

namespace sluice::kernels {

/// Reads every word once, with the widest vectors of this processor, and returns their sum; a
/// remainder of less than 32 words is left out. A kernel that passes weights once cannot be faster.
[[nodiscard]] uint64_t sum_words(std::span<const uint64_t> words);

/// Bytes per second at which the threads of `pool` read `words` together: the best of as many
/// repetitions as fit into `duration`, at least one. `words` should be several times as large as
/// the processor's caches, and have been written.
[[nodiscard]] double read_bandwidth(std::span<const uint64_t> words, ThreadPool& pool,
                                    Nanos duration);

}  // namespace sluice::kernels
