#include "format/ids.h"

#include <charconv>
#include <random>

#include <fmt/format.h>

namespace sluice::format {
namespace {

constexpr size_t kWordDigits = 16;

std::optional<uint64_t> parse_word(std::string_view text) {
  if (text.size() != kWordDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdef") != text.npos) return std::nullopt;
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

}  // namespace

std::string to_text(ModelId id) { return fmt::format("{:016x}", id.value); }

std::string to_text(VolumeId id) {
  std::string text;
  for (const uint8_t byte : id.value) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<ModelId> parse_model_id(std::string_view text) {
  const std::optional<uint64_t> value = parse_word(text);
  return value ? std::optional(ModelId{*value}) : std::nullopt;
}

std::optional<VolumeId> parse_volume_id(std::string_view text) {
  if (text.size() != 2 * kWordDigits) return std::nullopt;
  VolumeId id;
  for (size_t half = 0; half < 2; ++half) {
    const std::optional<uint64_t> word = parse_word(text.substr(half * kWordDigits, kWordDigits));
    if (!word) return std::nullopt;
    for (size_t i = 0; i < 8; ++i) {
      id.value[half * 8 + i] = static_cast<uint8_t>(*word >> (8 * (7 - i)));
    }
  }
  return id;
}

VolumeId new_volume_id() {
  std::random_device random;
  VolumeId id;
  for (uint8_t& byte : id.value) byte = static_cast<uint8_t>(random());
  return id;
}

}  // namespace sluice::format
