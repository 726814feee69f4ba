#include "base/sha256.h"

#include "base/check.h"
#include "base/error.h"

#include <array>

#if SLUICE_HAS_CRYPTO
#include <openssl/evp.h>
#endif

namespace sluice {

#if SLUICE_HAS_CRYPTO

struct Sha256::Context {
  Context() : evp(EVP_MD_CTX_new()) {
    SLUICE_CHECK(evp != nullptr && EVP_DigestInit_ex(evp, EVP_sha256(), nullptr) == 1);
  }
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EVP_MD_CTX* const evp;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}

void Sha256::add(std::span<const std::byte> bytes) {
  SLUICE_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  SLUICE_CHECK(EVP_DigestFinal_ex(context_->evp, digest.data(), &size) == 1);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

#else

struct Sha256::Context {};

Sha256::Sha256() {
  throw Error(ErrorCode::kUnsupported,
              "this build computes no SHA-256: install libcrypto (libssl-dev) and build again");
}

void Sha256::add(std::span<const std::byte>) {}
std::string Sha256::finish() { return {}; }

#endif

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;

}  // namespace sluice
