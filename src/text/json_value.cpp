#include "text/json_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::text {
namespace {

using Kind = JsonValue::Kind;

constexpr size_t kMaxDepth = 256;

// Only for its parser. With long double the parser takes integers of thousands of digits and 1e999,
// which Python's takes too.
using Parser =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, long double>;

// repr() of Python's float: the shortest digits that read back the same, an exponent below 1e-4 and
// from 1e16 on.
std::string python_float(double value) {
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view all(buffer, static_cast<size_t>(end - buffer));
  const size_t e = all.find('e');
  int exponent = 0;
  const size_t exponent_at = e + (all[e + 1] == '+' ? 2 : 1);
  std::from_chars(all.data() + exponent_at, end, exponent);
  const std::string_view sign = value < 0 || std::signbit(value) ? "-" : "";
  std::string digits;
  for (const char c : all.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    const std::string fraction = count > 1 ? "." + digits.substr(1) : "";
    return fmt::format("{}{}{}e{}{:02}", sign, digits[0], fraction, exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  if (exponent < 0) {
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<size_t>(-exponent - 1), '0'),
                       digits);
  }
  if (count < exponent + 2) digits.append(static_cast<size_t>(exponent + 2 - count), '0');
  const auto point = static_cast<size_t>(exponent) + 1;
  return fmt::format("{}{}.{}", sign, digits.substr(0, point), digits.substr(point));
}

// Gives the value of the last of equal keys to the first, and drops the others.
void merge_equal_keys(JsonValue& object) {
  std::unordered_map<std::string_view, size_t> first_at;
  std::vector<bool> keep(object.keys.size(), true);
  for (size_t i = 0; i < object.keys.size(); ++i) {
    const auto [entry, is_new] = first_at.try_emplace(object.keys[i], i);
    if (is_new) continue;
    object.items[entry->second] = std::move(object.items[i]);
    keep[i] = false;
  }
  if (first_at.size() == object.keys.size()) return;
  first_at.clear();
  size_t kept = 0;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    if (kept != i) {
      object.keys[kept] = std::move(object.keys[i]);
      object.items[kept] = std::move(object.items[i]);
    }
    ++kept;
  }
  object.keys.resize(kept);
  object.items.resize(kept);
}

// Builds a JsonValue from the events of nlohmann's parser, whose own values lose digits. The names
// and signatures are the parser's.
class Builder {
 public:
  bool null() { return add({}); }
  bool boolean(bool value) { return add({.kind = Kind::kBoolean, .boolean = value}); }
  bool number_integer(int64_t value) { return number(std::to_string(value)); }
  bool number_unsigned(uint64_t value) { return number(std::to_string(value)); }
  bool number_float(long double value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) return number(text);
    double number_value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number_value);
    if (result.ec == std::errc::result_out_of_range) {
      const double far = std::abs(value) > 1 ? std::numeric_limits<double>::infinity() : 0.0;
      number_value = std::copysign(far, text[0] == '-' ? -1.0 : 1.0);
    }
    return number(python_float(number_value));
  }
  bool string(std::string& text) { return add({.kind = Kind::kString, .text = std::move(text)}); }
  bool binary(std::vector<uint8_t>&) { return false; }  // JSON has none.
  bool start_object(size_t) { return start(Kind::kObject); }
  bool start_array(size_t) { return start(Kind::kArray); }
  bool key(std::string& text) {
    open_.back().keys.push_back(std::move(text));
    return true;
  }
  bool end_object() {
    merge_equal_keys(open_.back());
    return end_array();
  }
  bool end_array() {
    JsonValue value = std::move(open_.back());
    open_.pop_back();
    return add(std::move(value));
  }
  template <class Exception>
  bool parse_error(size_t position, const std::string&, const Exception&) {
    error_ = fmt::format("not valid JSON near byte {}", position);
    return false;
  }

  // `complete` is what the parser returned.
  JsonParse take(bool complete) {
    if (!complete) return {std::nullopt, std::move(error_)};
    return {std::move(root_), ""};
  }

 private:
  bool number(std::string text) { return add({.kind = Kind::kNumber, .text = std::move(text)}); }

  bool add(JsonValue value) {
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(value);
    return true;
  }

  bool start(Kind kind) {
    if (open_.size() == kMaxDepth) {
      error_ = fmt::format("JSON nested deeper than {}", kMaxDepth);
      return false;
    }
    open_.push_back({.kind = kind});
    return true;
  }

  std::vector<JsonValue> open_;  // The arrays and objects around what comes next.
  JsonValue root_;
  std::string error_;
};

void dump(const JsonValue& value, JsonStyle style, std::string& out) {
  const bool is_object = value.kind == Kind::kObject;
  switch (value.kind) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBoolean:
      out += value.boolean ? "true" : "false";
      return;
    case Kind::kNumber:
      out += value.text;
      return;
    case Kind::kString:
      append_json_string(value.text, out);
      return;
    case Kind::kArray:
    case Kind::kObject:
      break;
  }
  out += is_object ? '{' : '[';
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += style == JsonStyle::kCompact ? "," : ", ";
    if (is_object) {
      append_json_string(value.keys[i], out);
      out += style == JsonStyle::kCompact ? ":" : ": ";
    }
    dump(value.items[i], style, out);
  }
  out += is_object ? '}' : ']';
}

}  // namespace

void append_json_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
}

void append_json_string(std::string_view text, std::string& out) {
  out += '"';
  append_json_escaped(text, out);
  out += '"';
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &items[static_cast<size_t>(found - keys.begin())];
}

JsonParse parse_json(std::string_view text) {
  // The parser would skip a byte order mark; JSON has none.
  if (text.starts_with("\xEF\xBB\xBF")) return {std::nullopt, "not valid JSON near byte 1"};
  // And it would take a zero byte between two tokens for the end.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    return {std::nullopt, fmt::format("not valid JSON near byte {}", zero + 1)};
  }
  Builder builder;
  const bool complete = Parser::sax_parse(text.begin(), text.end(), &builder);
  return builder.take(complete);
}

void sort_keys(JsonValue& value) {
  for (JsonValue& item : value.items) sort_keys(item);
  // The order of UTF-8 bytes is the order of code points.
  std::vector<size_t> order(value.keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return value.keys[a] < value.keys[b]; });
  if (value.kind != Kind::kObject) return;
  JsonValue sorted{.kind = Kind::kObject};
  for (const size_t i : order) {
    sorted.keys.push_back(std::move(value.keys[i]));
    sorted.items.push_back(std::move(value.items[i]));
  }
  value = std::move(sorted);
}

std::string dump_json(const JsonValue& value, JsonStyle style) {
  std::string out;
  dump(value, style, out);
  return out;
}

}  // namespace sluice::text
