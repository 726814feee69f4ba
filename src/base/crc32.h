#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

/// CRC-32 as zlib, PNG and Python's zlib.crc32() compute it. Finds accidental changes; it is no
/// protection against intended ones.
[[nodiscard]] inline uint32_t crc32(std::span<const std::byte> bytes) {
  static constexpr std::array<uint32_t, 256> kTable = [] {
    constexpr uint32_t kPolynomial = 0xEDB88320u;  // Of IEEE 802.3, bits reversed.
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) * kPolynomial);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint32_t>(byte)) & 255u];
  }
  return ~crc;
}

}  // namespace sluice
