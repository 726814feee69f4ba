#include "text/decimal.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace sluice::text {

std::optional<Decimal> Decimal::parse(std::string_view json) {
  constexpr int kDigitsMax = 40;
  Decimal number;
  number.negative = json.starts_with('-');
  if (number.negative) json.remove_prefix(1);
  const size_t mantissa_end = std::min(json.find_first_of("eE"), json.size());
  int exponent = 0;
  if (mantissa_end < json.size()) {
    std::string_view text = json.substr(mantissa_end + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (read.ec != std::errc() || exponent < -999 || exponent > 999) return std::nullopt;
  }
  const std::string_view mantissa = json.substr(0, mantissa_end);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  int before = static_cast<int>(digits.size()) + exponent;
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  if (before < 0) digits.insert(0, static_cast<size_t>(-before), '0');
  before = std::max(before, 0);
  if (digits.size() < static_cast<size_t>(before)) digits.resize(static_cast<size_t>(before), '0');
  number.integer = digits.substr(0, static_cast<size_t>(before));
  number.fraction = digits.substr(static_cast<size_t>(before));
  number.integer.erase(0, std::min(number.integer.find_first_not_of('0'), number.integer.size()));
  number.fraction.erase(number.fraction.find_last_not_of('0') + 1);
  if (number.integer.size() > kDigitsMax || number.fraction.size() > kDigitsMax) {
    return std::nullopt;
  }
  if (number.integer.empty()) number.integer.push_back('0');
  if (number.integer == "0" && number.fraction.empty()) number.negative = false;
  return number;
}

Decimal Decimal::negated() const {
  Decimal opposite = *this;
  opposite.negative = !negative && (integer != "0" || !fraction.empty());
  return opposite;
}

bool operator<(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative;
  const auto key = [](const Decimal& d) {
    return std::tuple(d.integer.size(), d.integer, d.fraction);
  };
  return a.negative ? key(b) < key(a) : key(a) < key(b);
}

}  // namespace sluice::text
