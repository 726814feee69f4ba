#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

/// Bytes that stay where they are while this lives. Move-only. Whoever lent them is told at the
/// end, so a backend can hold weights until it has read them without knowing who owns them. A
/// default-constructed one is empty; one made from bytes alone lends what outlives it.
class PinnedBytes {
 public:
  using Release = void (*)(void* owner, uint32_t key) noexcept;

  PinnedBytes() = default;
  explicit PinnedBytes(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}
  PinnedBytes(std::span<const std::byte> bytes, Release release, void* owner, uint32_t key) noexcept
      : bytes_(bytes), release_(release), owner_(owner), key_(key) {}
  PinnedBytes(PinnedBytes&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})),
        release_(std::exchange(other.release_, nullptr)),
        owner_(other.owner_),
        key_(other.key_) {}
  PinnedBytes& operator=(PinnedBytes&& other) noexcept {
    if (this != &other) {
      reset();
      bytes_ = std::exchange(other.bytes_, {});
      release_ = std::exchange(other.release_, nullptr);
      owner_ = other.owner_;
      key_ = other.key_;
    }
    return *this;
  }
  ~PinnedBytes() { reset(); }

  [[nodiscard]] std::span<const std::byte> get() const noexcept { return bytes_; }

  /// Gives the bytes back now.
  void reset() noexcept {
    bytes_ = {};
    if (release_ != nullptr) std::exchange(release_, nullptr)(owner_, key_);
  }

 private:
  std::span<const std::byte> bytes_;
  Release release_ = nullptr;
  void* owner_ = nullptr;
  uint32_t key_ = 0;
};

}  // namespace sluice
