#include "text/string_pattern.h"

#include "base/error.h"
#include "text/utf8.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>

namespace sluice::text {
namespace {

constexpr uint32_t kRepeatsMax = 10'000, kStatesMax = 20'000, kUnbounded = UINT32_MAX;
constexpr size_t kGroupsMax = 50;

// What a part of a pattern means.
struct Part {
  enum class Kind : uint8_t { kSet, kSequence, kChoice, kRepeat };
  Kind kind;
  CharSet set{};                 // Of kSet.
  std::vector<Part> parts{};     // Of the others; one of kRepeat.
  uint32_t least = 0, most = 0;  // Of kRepeat.
};

CharSet set_of(std::initializer_list<CharSet::Range> ranges) {
  CharSet set;
  for (const CharSet::Range& range : ranges) set.add(range.first, range.last);
  return set;
}

CharSet digits() { return set_of({{'0', '9'}}); }
CharSet word() { return set_of({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}); }
CharSet space() { return set_of({{'\t', '\r'}, {' ', ' '}}); }

// What some implementation or other takes for a space.
CharSet any_space() {
  return set_of({{0x09, 0x0D},
                 {0x1C, 0x20},
                 {0x85, 0x85},
                 {0xA0, 0xA0},
                 {0x1680, 0x1680},
                 {0x2000, 0x200A},
                 {0x2028, 0x2029},
                 {0x202F, 0x202F},
                 {0x205F, 0x205F},
                 {0x3000, 0x3000},
                 {0xFEFF, 0xFEFF}});
}

Part anything() {
  Part any{.kind = Part::Kind::kSet, .set = CharSet::all()};
  return {.kind = Part::Kind::kRepeat, .parts = {std::move(any)}, .least = 0, .most = kUnbounded};
}

class Parser {
 public:
  Parser(std::string_view pattern, const std::string& path) : pattern_(pattern), path_(path) {}

  Part parse() {
    Part choice{.kind = Part::Kind::kChoice};
    do {
      const bool at_begin = take('^');
      Part sequence = parse_sequence();
      const bool at_end = take('$');
      if (!at_begin) sequence.parts.insert(sequence.parts.begin(), anything());
      if (!at_end) sequence.parts.push_back(anything());
      choice.parts.push_back(std::move(sequence));
    } while (take('|'));
    if (at_ < pattern_.size()) {
      refuse(pattern_[at_] == ')' ? "a closing parenthesis too many"
                                  : "anchors may only stand where the pattern begins or ends");
    }
    return choice;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(ErrorCode::kInvalidInput, "{}: {}, at byte {} of \"{}\"", path_, what, at_,
                pattern_);
  }

  bool ends() const { return at_ == pattern_.size(); }
  char peek() const { return ends() ? '\0' : pattern_[at_]; }
  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  bool take(char c) { return take(std::string_view(&c, 1)); }

  char32_t take_scalar() {
    if (ends()) refuse("it ends in the middle of something");
    const Utf8Step step = first_scalar(pattern_.substr(at_));
    if (step.kind != Utf8Step::Kind::kScalar) refuse("not UTF-8");
    at_ += step.length;
    return step.scalar;
  }

  Part parse_sequence() {
    Part sequence{.kind = Part::Kind::kSequence};
    while (!ends() && std::string_view("|)$^").find(peek()) == std::string_view::npos) {
      sequence.parts.push_back(parse_repeat());
    }
    return sequence;
  }

  Part parse_repeat() {
    Part part = parse_atom();
    uint32_t least = 0, most = kUnbounded;
    if (take('?')) {
      most = 1;
    } else if (take('+')) {
      least = 1;
    } else if (!take('*') && !take_counts(least, most)) {
      return part;
    }
    take('?');  // A lazy match finds the same strings.
    return {.kind = Part::Kind::kRepeat, .parts = {std::move(part)}, .least = least, .most = most};
  }

  // {n}, {n,} or {n,m}; anything else behind a brace makes it a character.
  bool take_counts(uint32_t& least, uint32_t& most) {
    const size_t begin = at_;
    if (take('{') && take_number(least)) {
      most = least;
      if (take(',') && !take_number(most)) most = kUnbounded;
      if (take('}')) {
        if (most < least) refuse("a range from more to less");
        return true;
      }
    }
    at_ = begin;
    least = 0;
    most = kUnbounded;
    return false;
  }

  bool take_number(uint32_t& number) {
    const char* const begin = pattern_.data() + at_;
    const auto read = std::from_chars(begin, pattern_.data() + pattern_.size(), number);
    if (read.ptr == begin) return false;
    if (read.ec != std::errc() || number > kRepeatsMax) refuse("too many repetitions");
    at_ += static_cast<size_t>(read.ptr - begin);
    return true;
  }

  Part parse_atom() {
    if (take('(')) return parse_group();
    if (take('[')) return {.kind = Part::Kind::kSet, .set = parse_class()};
    if (take('.')) {
      return {.kind = Part::Kind::kSet,
              .set = set_of({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).complement()};
    }
    if (take('\\')) return {.kind = Part::Kind::kSet, .set = parse_escape(false, false)};
    if (std::string_view("*+?").find(peek()) != std::string_view::npos) {
      refuse("a quantifier without anything before it");
    }
    const char32_t scalar = take_scalar();
    return {.kind = Part::Kind::kSet, .set = set_of({{scalar, scalar}})};
  }

  Part parse_group() {
    if (take('?') && !take(':')) refuse("lookaround, names and flags of groups are not supported");
    if (++groups_ > kGroupsMax) refuse("groups nested too deeply");
    Part choice{.kind = Part::Kind::kChoice};
    do choice.parts.push_back(parse_sequence());
    while (take('|'));
    if (peek() == '^' || peek() == '$') refuse("anchors inside of groups are not supported");
    if (!take(')')) refuse("a group without its end");
    --groups_;
    return choice;
  }

  CharSet parse_class() {
    const bool is_negated = take('^');
    CharSet set;
    while (!take(']')) {
      const std::optional<char32_t> first = parse_class_item(is_negated, set);
      if (!first) continue;
      char32_t last = *first;
      const bool is_range = peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (is_range) {
        ++at_;
        CharSet unused;
        const std::optional<char32_t> other = parse_class_item(is_negated, unused);
        if (!other || *other < *first) refuse("not a range of characters");
        last = *other;
      }
      set.add(*first, last);
    }
    return is_negated ? set.complement() : set;
  }

  // One character, or none when several have been added to `set`.
  std::optional<char32_t> parse_class_item(bool is_negated, CharSet& set) {
    if (!take('\\')) return take_scalar();
    const CharSet escaped = parse_escape(true, is_negated);
    const std::vector<CharSet::Range> ranges = escaped.ranges();
    if (ranges.size() == 1 && ranges[0].first == ranges[0].last) return ranges[0].first;
    set.add(escaped);
    return std::nullopt;
  }

  // What stands behind a backslash.
  CharSet parse_escape(bool in_class, bool is_negated) {
    constexpr std::string_view kLetters = "tnrfv", kControls = "\t\n\r\f\v";
    const char32_t letter = take_scalar();
    switch (letter) {
      case 'd':
        return digits();
      case 'D':
        return digits().complement();
      case 'w':
        return word();
      case 'W':
        return word().complement();
      case 's':
        return is_negated ? any_space() : space();
      case 'S':
        return (is_negated ? space() : any_space()).complement();
      case 'x':
        return parse_hex(2);
      case 'u':
        return parse_hex(4);
      default:
        break;
    }
    if (in_class && letter == 'b') return set_of({{'\b', '\b'}});
    const bool is_ascii = letter < 0x80;
    const size_t control = is_ascii ? kLetters.find(static_cast<char>(letter)) : kLetters.npos;
    if (control != kLetters.npos) {
      const auto scalar = static_cast<char32_t>(kControls[control]);
      return set_of({{scalar, scalar}});
    }
    const bool is_word = (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                         (letter >= 'a' && letter <= 'z');
    if (is_word || !is_ascii) refuse("this escape is not supported");
    return set_of({{letter, letter}});
  }

  CharSet parse_hex(size_t count) {
    uint32_t scalar = 0;
    const char* const begin = pattern_.data() + at_;
    const char* const end = begin + std::min(count, pattern_.size() - at_);
    if (end != begin + count || std::from_chars(begin, end, scalar, 16).ptr != end) {
      refuse("not as many hexadecimal digits as the escape needs");
    }
    if (scalar >= 0xD800 && scalar <= 0xDFFF) refuse("surrogates are not supported");
    at_ += count;
    return set_of({{scalar, scalar}});
  }

  const std::string_view pattern_;
  const std::string& path_;
  size_t at_ = 0;
  size_t groups_ = 0;
};

// Turns parts into states, from left to right.
class Builder {
 public:
  explicit Builder(const std::string& path) : path_(path) {}

  CharAutomaton build(const Part& pattern) {
    automaton_.start = add_state();
    automaton_.end = add(pattern, automaton_.start);
    return std::move(automaton_);
  }

 private:
  uint32_t add_state() {
    if (automaton_.states.size() == kStatesMax) {
      throw Error(ErrorCode::kInvalidInput, "{}: the pattern needs more than {} states", path_,
                  kStatesMax);
    }
    automaton_.states.emplace_back();
    return static_cast<uint32_t>(automaton_.states.size() - 1);
  }

  void add_edge(uint32_t from, uint32_t set, uint32_t target) {
    automaton_.states[from].push_back({set, target});
  }

  uint32_t add_empty(uint32_t from) {
    const uint32_t next = add_state();
    add_edge(from, CharAutomaton::kEmpty, next);
    return next;
  }

  // Returns the state behind the part.
  uint32_t add(const Part& part, uint32_t from) {
    switch (part.kind) {
      case Part::Kind::kSet: {
        const uint32_t next = add_state();
        add_edge(from, set_index(part.set), next);
        return next;
      }
      case Part::Kind::kSequence:
        for (const Part& next : part.parts) from = add(next, from);
        return from;
      case Part::Kind::kChoice: {
        const uint32_t end = add_state();
        for (const Part& one : part.parts) {
          add_edge(add(one, add_empty(from)), CharAutomaton::kEmpty, end);
        }
        return end;
      }
      case Part::Kind::kRepeat:
        break;
    }
    return add_repeat(part, from);
  }

  uint32_t add_repeat(const Part& part, uint32_t from) {
    const Part& body = part.parts.front();
    for (uint32_t i = 0; i < part.least; ++i) from = add(body, from);
    if (part.most == kUnbounded) {
      const uint32_t loop = add_empty(from);
      add_edge(add(body, loop), CharAutomaton::kEmpty, loop);
      return add_empty(loop);
    }
    const uint32_t end = add_state();
    for (uint32_t i = part.least; i < part.most; ++i) {
      add_edge(from, CharAutomaton::kEmpty, end);
      from = add(body, from);
    }
    add_edge(from, CharAutomaton::kEmpty, end);
    return end;
  }

  uint32_t set_index(const CharSet& set) {
    const std::vector<CharSet::Range> ranges = set.ranges();
    for (uint32_t i = 0; i < ranges_.size(); ++i) {
      if (ranges_[i] == ranges) return i;
    }
    ranges_.push_back(ranges);
    automaton_.sets.push_back(set);
    return static_cast<uint32_t>(ranges_.size() - 1);
  }

  const std::string& path_;
  CharAutomaton automaton_;
  std::vector<std::vector<CharSet::Range>> ranges_;  // Of automaton_.sets.
};

}  // namespace

CharAutomaton parse_pattern(std::string_view pattern, const std::string& path) {
  return Builder(path).build(Parser(pattern, path).parse());
}

#define DATE                                                            \
  "(?:[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|"  \
  "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|" \
  "[1-9][0-9](?:0[48]|[2468][048]|[13579][26])-02-29)"
#define TIME                                                     \
  "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?" \
  "(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"

std::string_view format_pattern(std::string_view format) {
  struct Format {
    std::string_view name, pattern;
  };
  constexpr Format kFormats[] = {
      {"date", "^" DATE "$"},
      {"time", "^" TIME "$"},
      {"date-time", "^" DATE "T" TIME "$"},
      {"uuid", "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"},
      {"email",
       "^[A-Za-z0-9_%+-]+(?:\\.[A-Za-z0-9_%+-]+)*@(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*\\.)+"
       "[A-Za-z]{2,24}$"},
      {"ipv4",
       "^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\\.){3}"
       "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$"},
  };
  for (const Format& known : kFormats) {
    if (known.name == format) return known.pattern;
  }
  return {};
}

#undef DATE
#undef TIME

}  // namespace sluice::text
