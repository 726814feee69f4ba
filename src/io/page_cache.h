#pragma once
#include <cstdint>
#include <optional>

namespace sluice::io {

/// How many of the first `bytes` of an open file the page cache holds. Nothing where the system
/// does not say, or not to this user.
[[nodiscard]] std::optional<uint64_t> cached_bytes(int descriptor, uint64_t bytes);

/// Asks the system to write back what is new and to forget what the page cache holds of an open
/// file. It may keep what someone has mapped.
void drop_cached(int descriptor);

}  // namespace sluice::io
