#include "text/char_set.h"

#include <algorithm>
#include <string_view>

namespace sluice::text {
namespace {

using NodeId = ByteGrammar::NodeId;

constexpr char32_t kLast = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

// Spells numbers of a fixed number of digits, the highest of which may be spelled in its own way.
class Digits {
 public:
  using AddDigit = void (*)(ByteGrammar&, NodeId from, uint8_t first, uint8_t last, NodeId target);

  Digits(ByteGrammar& grammar, uint32_t bits, AddDigit add_digit)
      : grammar_(grammar), bits_(bits), add_digit_(add_digit) {}

  // Adds [first, last], numbers of one digit and `more`, between the nodes.
  void add(NodeId from, char32_t first, char32_t last, uint32_t more, AddDigit add_highest,
           NodeId target) {
    if (more == 0) {
      add_highest(grammar_, from, static_cast<uint8_t>(first), static_cast<uint8_t>(last), target);
      return;
    }
    const uint32_t shift = bits_ * more;
    const char32_t below = (char32_t{1} << shift) - 1;
    char32_t high = first >> shift, high_last = last >> shift;
    const auto add_part = [&](char32_t from_digit, char32_t to_digit, char32_t low,
                              char32_t low_last) {
      const NodeId next = grammar_.add_node();
      add_highest(grammar_, from, static_cast<uint8_t>(from_digit), static_cast<uint8_t>(to_digit),
                  next);
      add(next, low, low_last, more - 1, add_digit_, target);
    };
    if (high == high_last) return add_part(high, high, first & below, last & below);
    if ((first & below) != 0) {
      add_part(high, high, first & below, below);
      ++high;
    }
    const bool is_cut = (last & below) != below;
    if (is_cut) --high_last;
    if (high <= high_last) add_part(high, high_last, 0, below);
    if (is_cut) add_part(high_last + 1, high_last + 1, 0, last & below);
  }

 private:
  ByteGrammar& grammar_;
  const uint32_t bits_;
  const AddDigit add_digit_;
};

// A byte of UTF-8 that carries bits under a mark.
template <uint8_t kMark>
void add_marked(ByteGrammar& grammar, NodeId from, uint8_t first, uint8_t last, NodeId target) {
  grammar.add_bytes(from, kMark | first, kMark | last, target);
}

void add_hex(ByteGrammar& grammar, NodeId from, uint8_t first, uint8_t last, NodeId target) {
  const auto add = [&](int begin, int end, char base) {
    const int low = std::max<int>(first, begin), high = std::min<int>(last, end);
    if (low > high) return;
    grammar.add_bytes(from, static_cast<uint8_t>(base + low - begin),
                      static_cast<uint8_t>(base + high - begin), target);
  };
  add(0, 9, '0');
  add(10, 15, 'a');
  add(10, 15, 'A');
}

void add_utf8(ByteGrammar& grammar, NodeId from, CharSet::Range range, NodeId target) {
  struct Length {
    char32_t first, last;
    Digits::AddDigit add_lead;
  };
  constexpr Length kLengths[] = {{0, 0x7F, add_marked<0>},
                                 {0x80, 0x7FF, add_marked<0xC0>},
                                 {0x800, 0xFFFF, add_marked<0xE0>},
                                 {0x10000, kLast, add_marked<0xF0>}};
  Digits digits(grammar, 6, add_marked<0x80>);
  for (uint32_t more = 0; more < 4; ++more) {
    const char32_t first = std::max(range.first, kLengths[more].first);
    const char32_t last = std::min(range.last, kLengths[more].last);
    if (first <= last) digits.add(from, first, last, more, kLengths[more].add_lead, target);
  }
}

struct Escape {
  char32_t scalar;
  char letter;
};
constexpr Escape kEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'\b', 'b'},
                               {'\f', 'f'}, {'\n', 'n'},  {'\r', 'r'}, {'\t', 't'}};

// `hex` stands behind "\u".
void add_escapes(ByteGrammar& grammar, NodeId backslash, NodeId hex, CharSet::Range range,
                 NodeId target) {
  for (const Escape& escape : kEscapes) {
    if (escape.scalar < range.first || escape.scalar > range.last) continue;
    const auto letter = static_cast<uint8_t>(escape.letter);
    grammar.add_bytes(backslash, letter, letter, target);
  }
  Digits digits(grammar, 4, add_hex);
  const char32_t last = std::min<char32_t>(range.last, 0xFFFF);
  if (range.first <= last) digits.add(hex, range.first, last, 3, add_hex, target);
  // Scalars beyond are spelled as two surrogates; sets have all of them or spell them as they are.
  if (range.first > 0x10000 || range.last < kLast) return;
  const NodeId high = grammar.add_node();
  digits.add(hex, 0xD800, 0xDBFF, 3, add_hex, high);
  digits.add(grammar.add_text(high, "\\u"), 0xDC00, kLastSurrogate, 3, add_hex, target);
}

}  // namespace

CharSet CharSet::all() {
  CharSet set;
  set.add(0, kLast);
  return set;
}

void CharSet::add(const CharSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
}

CharSet CharSet::complement() const {
  CharSet set;
  char32_t next = 0;
  for (const Range& range : ranges()) {
    if (range.first > next) set.add(next, range.first - 1);
    next = range.last + 1;
  }
  if (next <= kLast) set.add(next, kLast);
  return set;
}

std::vector<CharSet::Range> CharSet::ranges() const {
  std::vector<Range> sorted;
  for (const Range& range : ranges_) {
    const char32_t below = std::min<char32_t>(range.last, kFirstSurrogate - 1);
    const char32_t above = std::max<char32_t>(range.first, kLastSurrogate + 1);
    if (range.first <= below) sorted.push_back({range.first, below});
    if (above <= range.last) sorted.push_back({above, range.last});
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<Range> merged;
  for (const Range& range : sorted) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

void add_character(ByteGrammar& grammar, NodeId from, const CharSet& set, StringForm form,
                   NodeId target) {
  const std::vector<CharSet::Range> ranges = set.ranges();
  if (form == StringForm::kRaw) {
    for (const CharSet::Range& range : ranges) add_utf8(grammar, from, range, target);
    return;
  }
  const NodeId backslash = grammar.add_text(from, "\\");
  const NodeId hex = grammar.add_text(backslash, "u");
  for (const CharSet::Range& range : ranges) {
    add_escapes(grammar, backslash, hex, range, target);
    // Quotes, backslashes and control characters have to be escaped.
    constexpr CharSet::Range kPlain[] = {{0x20, 0x21}, {0x23, 0x5B}, {0x5D, kLast}};
    for (const CharSet::Range& plain : kPlain) {
      const CharSet::Range part = {std::max(range.first, plain.first),
                                   std::min(range.last, plain.last)};
      if (part.first <= part.last) add_utf8(grammar, from, part, target);
    }
  }
}

}  // namespace sluice::text
