#include "format/json_reader.h"

#include <array>
#include <charconv>

namespace sluice::format {
namespace {

// Bytes that stand for themselves in a string: neither a quote, an escape, a control character nor
// part of a longer UTF-8 sequence.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(uint32_t code, std::string& out) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  const auto tail = [&](uint32_t shift) { put(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xf0 | code >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

void JsonReader::fail(std::string_view why) const {
  refuse_damaged(path_, fmt::format("is not valid JSON at byte {}: {}", first_byte_ + at_, why),
                 remedy_);
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
    ++at_;
  }
}

char JsonReader::next_char() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonReader::expect(char c) {
  if (next_char() != c) fail(fmt::format("expected '{}'", c));
  ++at_;
}

JsonReader::Kind JsonReader::peek() {
  const char c = next_char();
  if (c == '{') return Kind::kObject;
  if (c == '[') return Kind::kArray;
  if (c == '"') return Kind::kString;
  if (c == '-' || is_digit(c)) return Kind::kNumber;
  if (c == 't' || c == 'f' || c == 'n') return Kind::kLiteral;
  fail("expected a value");
}

void JsonReader::enter(char open) {
  expect(open);
  if (++depth_ > kDepthMax) fail(fmt::format("nests deeper than {} levels", kDepthMax));
  first_ = true;
}

void JsonReader::enter_object() { enter('{'); }
void JsonReader::enter_array() { enter('['); }

bool JsonReader::next_in(char close) {
  const char c = next_char();
  if (c == close) {
    ++at_;
    --depth_;
    first_ = false;  // The container itself was a member or element of the one around it.
    return false;
  }
  if (!first_) expect(',');
  first_ = false;
  return true;
}

std::optional<std::string_view> JsonReader::next_member() {
  if (!next_in('}')) return std::nullopt;
  const std::string_view name = string();
  expect(':');
  return name;
}

bool JsonReader::next_element() { return next_in(']'); }

std::string_view JsonReader::string() {
  expect('"');
  const size_t begin = at_;
  size_t copied = begin;  // Everything before it is in unescaped_, once there was an escape.
  bool escaped = false;
  for (;;) {
    while (at_ < text_.size() && kPlain[static_cast<unsigned char>(text_[at_])]) ++at_;
    if (at_ == text_.size()) fail("a string does not end");
    const char c = text_[at_];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
    if (c != '\\') {
      check_utf8();
      continue;
    }
    if (!escaped) unescaped_.clear();
    escaped = true;
    unescaped_.append(text_.substr(copied, at_ - copied));
    append_escape();
    copied = at_;
  }
  const std::string_view rest = text_.substr(copied, at_ - copied);
  ++at_;
  if (!escaped) return rest;
  unescaped_.append(rest);
  return unescaped_;
}

// At a backslash; moves behind the escape.
void JsonReader::append_escape() {
  ++at_;
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (c != 'u') {
    const size_t place = c == '\0' ? std::string_view::npos : kNames.find(c);
    if (place == std::string_view::npos) fail("an unknown escape");
    unescaped_ += kMeanings[place];
    ++at_;
    return;
  }
  uint32_t code = hex4();
  if (code >= 0xdc00 && code < 0xe000) fail("half of a surrogate pair");
  if (code >= 0xd800 && code < 0xdc00) {
    if (text_.substr(at_, 2) != "\\u") fail("half of a surrogate pair");
    ++at_;
    const uint32_t low = hex4();
    if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(code, unescaped_);
}

// At the u of an escape; moves behind its four digits.
uint32_t JsonReader::hex4() {
  const std::string_view digits = text_.substr(at_ + 1, 4);
  uint32_t code = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) {
    fail("\\u needs four hexadecimal digits");
  }
  at_ += 5;
  return code;
}

// At a byte above 0x7f; moves behind the sequence that it begins. Overlong forms, surrogates and
// codes past U+10FFFF are refused.
void JsonReader::check_utf8() {
  const auto byte = [&](size_t i) {
    return at_ + i < text_.size() ? static_cast<unsigned char>(text_[at_ + i]) : 0u;
  };
  const uint32_t lead = byte(0);
  const size_t tails = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  if (lead < 0xc2 || lead > 0xf4) fail("not UTF-8");
  const uint32_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const uint32_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) fail("not UTF-8");
  for (size_t i = 2; i <= tails; ++i) {
    if ((byte(i) & 0xc0) != 0x80) fail("not UTF-8");
  }
  at_ += 1 + tails;
}

void JsonReader::digits() {
  if (at_ == text_.size() || !is_digit(text_[at_])) fail("expected a digit");
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
}

std::string_view JsonReader::number_text() {
  const auto is = [&](char c) { return at_ < text_.size() && text_[at_] == c; };
  if (peek() != Kind::kNumber) fail("expected a number");
  const size_t begin = at_;
  if (is('-')) ++at_;
  if (is('0')) {
    ++at_;
  } else {
    digits();
  }
  if (is('.')) {
    ++at_;
    digits();
  }
  if (is('e') || is('E')) {
    ++at_;
    if (is('+') || is('-')) ++at_;
    digits();
  }
  return text_.substr(begin, at_ - begin);
}

std::optional<uint64_t> JsonReader::number() {
  const std::string_view text = number_text();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void JsonReader::skip_literal() {
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text_.substr(at_, word.size()) == word) {
      at_ += word.size();
      return;
    }
  }
  fail("expected a value");
}

void JsonReader::skip() {
  const uint32_t outside = depth_;
  uint64_t objects = 0;  // Bit d: the container at that depth below `outside` is an object.
  do {
    if (depth_ > outside) {
      const bool object = (objects >> (depth_ - outside - 1) & 1) != 0;
      if (object ? !next_member().has_value() : !next_element()) continue;
    }
    const Kind kind = peek();
    if (kind == Kind::kObject || kind == Kind::kArray) {
      enter(kind == Kind::kObject ? '{' : '[');
      const uint64_t bit = uint64_t{1} << (depth_ - outside - 1);
      objects = kind == Kind::kObject ? objects | bit : objects & ~bit;
    } else if (kind == Kind::kString) {
      (void)string();
    } else if (kind == Kind::kNumber) {
      (void)number_text();
    } else {
      skip_literal();
    }
  } while (depth_ > outside);
}

void JsonReader::finish() {
  skip_blanks();
  if (at_ != text_.size()) fail("something follows the end");
}

}  // namespace sluice::format
