#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace sluice::format {

static_assert(std::endian::native == std::endian::little, "files are copied as they are");

/// The value that stands at a place of a file; the bytes must be there.
template <class T>
[[nodiscard]] T load(std::span<const std::byte> bytes, uint64_t at = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Adds a value as a file has it.
template <class T>
void append(std::vector<std::byte>& out, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace sluice::format
