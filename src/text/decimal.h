#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sluice::text {

/// An exact decimal number. Digits are ASCII.
struct Decimal {
  bool negative = false;  ///< Never of zero.
  std::string integer;    ///< No leading zeros but that of "0".
  std::string fraction;   ///< Of any length; no trailing zeros.

  /// Of a JSON number. None when it needs more than 40 digits before or behind the point.
  static std::optional<Decimal> parse(std::string_view json);
  [[nodiscard]] bool is_integer() const { return fraction.empty(); }
  [[nodiscard]] Decimal negated() const;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

[[nodiscard]] bool operator<(const Decimal& a, const Decimal& b);

}  // namespace sluice::text
