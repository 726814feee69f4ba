#include "cli/size_text.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 10> kUnits = {{{"", 1.0},
                                          {"B", 1.0},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40}}};

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 32) == (y | 32); });
}

}  // namespace

uint64_t parse_bytes(std::string_view text, std::string_view option) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto* const known = std::ranges::find_if(
      kUnits, [&](const Unit& candidate) { return same_letters(candidate.name, unit); });
  if (error != std::errc{} || known == kUnits.end() || !(number >= 0.0)) {
    throw Error(
        ErrorCode::kInvalidInput,
        "{}: \"{}\" is not a size; write bytes, or a number with KB, MB, GB, TB (powers of 1000) "
        "or KiB, MiB, GiB, TiB (powers of 1024), for example 20GiB",
        option, text);
  }
  const double bytes = std::floor(number * known->bytes);
  // Beyond 2^53 a double no longer counts single bytes; no machine has that much memory.
  if (bytes > 0x1p53) {
    throw Error(ErrorCode::kInvalidInput, "{}: \"{}\" is more than any machine has", option, text);
  }
  return static_cast<uint64_t>(bytes);
}

std::string read_size_text(uint64_t bytes) {
  if (bytes % (1u << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  if (bytes % 1024 == 0) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} B", bytes);
}

}  // namespace sluice::cli
