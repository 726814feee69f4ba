#pragma once
#include <cstdint>
#include <optional>

namespace sluice::io {

/// What a file system asks of reads around the page cache.
struct DirectReads {
  bool allowed = false;
  uint32_t offset_bytes = 0;  ///< Offset and size are multiples of it; 0: unknown, or none allowed.
  uint32_t memory_bytes = 0;  ///< Likewise the address.
  friend bool operator==(const DirectReads&, const DirectReads&) = default;
};

/// What it says of an open file. Nothing when it does not say.
[[nodiscard]] std::optional<DirectReads> direct_reads(int descriptor);

}  // namespace sluice::io
