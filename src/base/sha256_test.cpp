// Without these tests a conversion could compare its source with sums that nobody else computes.
#include "base/sha256.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, KnownDigests) {
  const struct {
    std::string text, digest;
  } kCases[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1000000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& [text, digest] : kCases) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
    for (const size_t cut : {size_t{0}, text.size() / 3, text.size()}) {
      Sha256 sha;
      sha.add(bytes.first(cut));
      sha.add(bytes.subspan(cut));
      EXPECT_EQ(sha.finish(), digest) << text.size() << " bytes, cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace sluice
