#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sluice {

/// `digest` after one more value. Tells accidental differences apart; it is no protection against
/// intended ones. The same on every machine.
constexpr uint64_t digest_of(uint64_t digest, uint64_t value) {
  digest = (digest ^ value) * 0x9E3779B97F4A7C15u;  // Odd multiplier of Fibonacci hashing.
  return digest ^ (digest >> 29);
}

/// `digest` after some bytes and their number, so that two runs of bytes cannot pass for one.
inline uint64_t digest_of(uint64_t digest, std::span<const std::byte> bytes) {
  digest = digest_of(digest, bytes.size());
  for (; bytes.size() >= sizeof digest; bytes = bytes.subspan(sizeof digest)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    digest = digest_of(digest, word);
  }
  for (const std::byte byte : bytes) digest = digest_of(digest, static_cast<uint64_t>(byte));
  return digest;
}

}  // namespace sluice
