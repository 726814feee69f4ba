#pragma once
#include "text/byte_grammar.h"
#include "text/decimal.h"

#include <cstdint>
#include <optional>

namespace sluice::text {

struct Bound {
  Decimal value;
  bool exclusive;
};

/// Which numbers are meant.
struct NumberRange {
  bool integers = false;  ///< Only numbers without fraction, and these without a point.
  std::optional<Bound> lower, upper;
  /// Of integers: 1 to kMultipleMax.
  uint32_t multiple_of = 1;

  static constexpr uint32_t kMultipleMax = 1000;

  /// The narrower bound counts.
  void raise(const Bound& bound);
  void reduce(const Bound& bound);
};

/// Adds the spellings of the numbers as starts of `rule`. Digits before and behind the point are at
/// most 20 each, or as many as the bounds have, so that a model cannot go on with them for ever.
/// Exponents (of two digits) occur only where no bound is.
void add_numbers(ByteGrammar& grammar, ByteGrammar::RuleId rule, const NumberRange& range);

}  // namespace sluice::text
