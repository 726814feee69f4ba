#include "text/number_range.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace sluice::text {
namespace {

using NodeId = ByteGrammar::NodeId;

constexpr size_t kDigitsMax = 20;

// Numbers without sign between two bounds, digit by digit. While the digits so far are those of a
// bound, the next one is limited by it; from the first that differs on, the bound is kept for sure.
class Magnitudes {
 public:
  struct Limits {
    std::optional<Bound> low, high;
    bool integers;
    uint32_t multiple_of;
    bool exponents;
  };

  Magnitudes(ByteGrammar& grammar, Limits limits) : grammar_(grammar), limits_(std::move(limits)) {
    for (const std::optional<Bound>* bound : {&limits_.low, &limits_.high}) {
      if (!*bound) continue;
      integer_max_ = std::max(integer_max_, (*bound)->value.integer.size());
      fraction_max_ = std::max(fraction_max_, (*bound)->value.fraction.size());
    }
    if (limits_.exponents) exponent_ = add_exponent();
  }

  // Adds the numbers behind `start`.
  void add(NodeId start) {
    const size_t least = limits_.low ? limits_.low->value.integer.size() : 1;
    const size_t most = limits_.high ? limits_.high->value.integer.size() : integer_max_;
    for (size_t length = least; length <= most; ++length) {
      add_digits(start, {.length = length,
                         .at = 0,
                         .low = limits_.low && length == least,
                         .high = limits_.high && length == most,
                         .remainder = 0});
    }
  }

 private:
  // Behind `at` digits of `length`; low and high: they are those of the bound.
  struct Place {
    size_t length, at;
    bool low, high;
    uint32_t remainder;
  };

  // The digits that may follow: from that of the lower bound to that of the upper.
  struct DigitRange {
    int first, last;
  };
  static DigitRange digits(const std::string* low, const std::string* high, size_t at) {
    const auto digit = [at](const std::string& text) {
      return at < text.size() ? text[at] - '0' : 0;
    };
    return {low != nullptr ? digit(*low) : 0, high != nullptr ? digit(*high) : 9};
  }

  void add_digits(NodeId node, const Place& place) {
    const DigitRange range = digits(place.low ? &limits_.low->value.integer : nullptr,
                                    place.high ? &limits_.high->value.integer : nullptr, place.at);
    const int least = place.at == 0 && place.length > 1 ? 1 : 0;
    for (int digit = std::max(least, range.first); digit <= range.last; ++digit) {
      const auto byte = static_cast<uint8_t>('0' + digit);
      Place next = place;
      ++next.at;
      next.low = place.low && digit == range.first;
      next.high = place.high && digit == range.last;
      next.remainder = (place.remainder * 10 + static_cast<uint32_t>(digit)) % limits_.multiple_of;
      grammar_.add_bytes(node, byte, byte, node_at(next));
    }
  }

  NodeId node_at(const Place& place) {
    // What no bound limits depends on the number of digits that are left only.
    const bool is_free = !place.low && !place.high;
    const size_t left = place.length - place.at;
    const auto key =
        std::tuple(is_free ? 0 : place.length, left, place.low, place.high, place.remainder);
    const auto [entry, is_new] = integer_nodes_.try_emplace(key, 0);
    if (!is_new) return entry->second;
    const NodeId node = grammar_.add_node();
    entry->second = node;
    if (left > 0) {
      add_digits(node, place);
      return node;
    }
    if (place.remainder == 0 && fits(0, place.low, place.high)) end_at(node);
    if (!limits_.integers) {
      add_fraction(grammar_.add_text(node, "."), 0, place.low, place.high);
    }
    return node;
  }

  // Whether the number may end behind `at` digits of the fraction.
  bool fits(size_t at, bool low, bool high) const {
    const bool fits_low =
        !low || (at >= limits_.low->value.fraction.size() && !limits_.low->exclusive);
    const bool fits_high =
        !high || at < limits_.high->value.fraction.size() || !limits_.high->exclusive;
    return fits_low && fits_high;
  }

  void add_fraction(NodeId node, size_t at, bool low, bool high) {
    if (at == fraction_max_) return;
    const DigitRange range = digits(low ? &limits_.low->value.fraction : nullptr,
                                    high ? &limits_.high->value.fraction : nullptr, at);
    for (int digit = range.first; digit <= range.last; ++digit) {
      const auto byte = static_cast<uint8_t>('0' + digit);
      grammar_.add_bytes(
          node, byte, byte,
          fraction_node_at(at + 1, low && digit == range.first, high && digit == range.last));
    }
  }

  NodeId fraction_node_at(size_t at, bool low, bool high) {
    const auto [entry, is_new] = fraction_nodes_.try_emplace(std::tuple(at, low, high), 0);
    if (!is_new) return entry->second;
    const NodeId node = grammar_.add_node();
    entry->second = node;
    if (fits(at, low, high)) end_at(node);
    add_fraction(node, at, low, high);
    return node;
  }

  void end_at(NodeId node) {
    grammar_.set_accepting(node);
    if (!exponent_) return;
    grammar_.add_bytes(node, 'e', 'e', *exponent_);
    grammar_.add_bytes(node, 'E', 'E', *exponent_);
  }

  // Two digits at most, so that the number is one that a double can hold.
  NodeId add_exponent() {
    const NodeId letter = grammar_.add_node(), sign = grammar_.add_node();
    const NodeId one = grammar_.add_node(), two = grammar_.add_node();
    for (const char c : {'+', '-'}) {
      grammar_.add_bytes(letter, static_cast<uint8_t>(c), static_cast<uint8_t>(c), sign);
    }
    grammar_.add_empty(letter, sign);
    grammar_.add_bytes(sign, '0', '9', one);
    grammar_.add_bytes(one, '0', '9', two);
    grammar_.set_accepting(one);
    grammar_.set_accepting(two);
    return letter;
  }

  ByteGrammar& grammar_;
  const Limits limits_;
  size_t integer_max_ = kDigitsMax, fraction_max_ = kDigitsMax;
  std::optional<NodeId> exponent_;
  std::map<std::tuple<size_t, size_t, bool, bool, uint32_t>, NodeId> integer_nodes_;
  std::map<std::tuple<size_t, bool, bool>, NodeId> fraction_nodes_;
};

}  // namespace

void NumberRange::raise(const Bound& bound) {
  if (!lower || lower->value < bound.value || (lower->value == bound.value && bound.exclusive)) {
    lower = bound;
  }
}

void NumberRange::reduce(const Bound& bound) {
  if (!upper || bound.value < upper->value || (upper->value == bound.value && bound.exclusive)) {
    upper = bound;
  }
}

void add_numbers(ByteGrammar& grammar, ByteGrammar::RuleId rule, const NumberRange& range) {
  const Bound zero = {Decimal::parse("0").value(), false};
  Magnitudes::Limits limits = {.low = std::nullopt,
                               .high = std::nullopt,
                               .integers = range.integers,
                               .multiple_of = range.multiple_of,
                               .exponents = !range.integers && !range.lower && !range.upper};
  const NodeId start = grammar.add_node();
  grammar.add_start(rule, start);
  if (!range.upper || !range.upper->value.negative) {
    if (range.lower && !range.lower->value.negative) limits.low = range.lower;
    limits.high = range.upper;
    Magnitudes(grammar, limits).add(start);
  }
  if (!range.lower || range.lower->value.negative) {
    // Below zero the bounds change places; zero itself has no sign.
    const bool ends_below = range.upper && range.upper->value.negative;
    limits.low = ends_below ? Bound{range.upper->value.negated(), range.upper->exclusive}
                            : Bound{zero.value, true};
    limits.high.reset();
    if (range.lower) limits.high = Bound{range.lower->value.negated(), range.lower->exclusive};
    Magnitudes(grammar, limits).add(grammar.add_text(start, "-"));
  }
}

}  // namespace sluice::text
