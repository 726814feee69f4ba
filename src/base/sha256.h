#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sluice {

/// SHA-256 of bytes that come in order.
class Sha256 {
 public:
  /// Throws Error(kUnsupported) in a build without libcrypto.
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;

  void add(std::span<const std::byte> bytes);
  /// 64 hexadecimal digits. Nothing can be added afterwards.
  [[nodiscard]] std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace sluice
