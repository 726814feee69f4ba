#include "text/utf8.h"

#include "base/check.h"

namespace sluice::text {
namespace {

uint8_t byte_at(std::string_view bytes, size_t i) { return static_cast<uint8_t>(bytes[i]); }

// What may follow a lead byte: how many bytes, and the range of the first, which is what excludes
// overlong forms, surrogates and scalars above U+10FFFF.
struct Tail {
  uint8_t count, first_min, first_max;
};

Tail tail_of(uint8_t lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {1, 0x80, 0xBF};
  if (lead == 0xE0) return {2, 0xA0, 0xBF};
  if (lead == 0xED) return {2, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {2, 0x80, 0xBF};
  if (lead == 0xF0) return {3, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {3, 0x80, 0xBF};
  if (lead == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step first_scalar(std::string_view bytes) {
  using Kind = Utf8Step::Kind;
  SLUICE_CHECK(!bytes.empty());
  const uint8_t lead = byte_at(bytes, 0);
  if (lead < 0x80) return {Kind::kScalar, 1, lead};
  const Tail tail = tail_of(lead);
  if (tail.count == 0) return {Kind::kIllFormed, 1, 0};
  char32_t scalar = lead & (0x3FU >> tail.count);
  for (uint8_t i = 1; i <= tail.count; ++i) {
    if (i == bytes.size()) return {Kind::kIncomplete, i, 0};
    const uint8_t next = byte_at(bytes, i);
    const bool fits = i == 1 ? next >= tail.first_min && next <= tail.first_max : next >> 6 == 2;
    if (!fits) return {Kind::kIllFormed, i, 0};
    scalar = scalar << 6 | (next & 0x3FU);
  }
  return {Kind::kScalar, static_cast<uint8_t>(tail.count + 1), scalar};
}

size_t find_invalid_utf8(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const Utf8Step step = first_scalar(bytes.substr(at));
    if (step.kind != Utf8Step::Kind::kScalar) return at;
    at += step.length;
  }
  return std::string_view::npos;
}

}  // namespace sluice::text
