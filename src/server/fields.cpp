#include "server/fields.h"

#include "base/error.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using text::JsonValue;
using Kind = JsonValue::Kind;

// The value of a number, which may be infinite; nothing of another kind.
std::optional<double> number_of(const JsonValue& value) {
  if (value.kind != Kind::kNumber) return std::nullopt;
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc::result_out_of_range) {
    const bool is_negative = value.text.front() == '-';
    return is_negative ? -std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::infinity();
  }
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// A whole number, also one that is written as 5.0, since some clients know no integers.
std::optional<int64_t> integer_of(const JsonValue& value) {
  if (value.kind != Kind::kNumber) return std::nullopt;
  int64_t integer = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, integer);
  if (error == std::errc() && stop == end) return integer;
  constexpr double kExact = 1LL << 53;  // Up to here a double is a whole number of its own.
  const std::optional<double> number = number_of(value);
  if (!number || std::abs(*number) > kExact || *number != std::trunc(*number)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace

Fields::Fields(const JsonValue& object, std::string path)
    : object_(&object), path_(std::move(path)) {
  if (object.kind == Kind::kObject) return;
  throw Error(ErrorCode::kInvalidInput, "{}: must be a JSON object",
              path_.empty() ? "request" : path_);
}

const JsonValue* Fields::find(std::string_view key) const {
  const JsonValue* value = object_->find(key);
  return value == nullptr || value->kind == Kind::kNull ? nullptr : value;
}

std::optional<Fields> Fields::object(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  return Fields(*value, path(key));
}

std::optional<bool> Fields::boolean(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kBoolean) refuse(key, "must be true or false");
  return value->boolean;
}

std::optional<double> Fields::number(std::string_view key, double least, double most) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = number_of(*value);
  if (!number || !(*number >= least && *number <= most)) {
    refuse(key, fmt::format("must be a number from {} to {}", least, most));
  }
  return number;
}

std::optional<int64_t> Fields::integer(std::string_view key, int64_t least, int64_t most) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> integer = integer_of(*value);
  if (!integer || *integer < least || *integer > most) {
    const bool is_bounded = most < std::numeric_limits<int64_t>::max();
    refuse(key, is_bounded ? fmt::format("must be a whole number from {} to {}", least, most)
                           : fmt::format("must be a whole number of at least {}", least));
  }
  return integer;
}

std::optional<std::string> Fields::string(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->kind != Kind::kString) refuse(key, "must be a string");
  return value->text;
}

std::vector<std::string> Fields::strings(std::string_view key) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return {};
  if (value->kind == Kind::kString) return {value->text};
  if (value->kind != Kind::kArray) refuse(key, "must be a string or an array of strings");
  std::vector<std::string> strings;
  for (const JsonValue& item : value->items) {
    if (item.kind != Kind::kString) {
      refuse(fmt::format("{}[{}]", key, strings.size()), "must be a string");
    }
    strings.push_back(item.text);
  }
  return strings;
}

std::vector<TokenId> Fields::ids(std::string_view key, uint32_t vocab) const {
  const JsonValue* value = find(key);
  if (value == nullptr) return {};
  if (value->kind != Kind::kArray) refuse(key, "must be an array of token ids");
  std::vector<TokenId> ids;
  for (const JsonValue& item : value->items) {
    const std::optional<int64_t> id = integer_of(item);
    if (!id || *id < 0 || *id >= vocab) {
      refuse(fmt::format("{}[{}]", key, ids.size()),
             fmt::format("must be a token id from 0 to {}", vocab - 1));
    }
    ids.push_back(TokenId{static_cast<int32_t>(*id)});
  }
  return ids;
}

std::string Fields::path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Fields::refuse(std::string_view key, std::string_view what) const {
  throw Error(ErrorCode::kInvalidInput, "{}: {}", path(key), what);
}

JsonValue parse_body(std::string_view body) {
  text::JsonParse parsed = text::parse_json(body);
  if (!parsed.value) throw Error(ErrorCode::kInvalidInput, "request: {}", parsed.error);
  if (parsed.value->kind != Kind::kObject) {
    throw Error(ErrorCode::kInvalidInput, "request: must be a JSON object");
  }
  return std::move(*parsed.value);
}

}  // namespace sluice::server
