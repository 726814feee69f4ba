#pragma once
#include "text/json_value.h"

#include <cmath>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

/// JSON values of answers: json_object({{"id", id}, {"index", 0}, {"usage", nullptr}}).
namespace sluice::server {

template <class T>
[[nodiscard]] text::JsonValue to_json(const T& value) {
  using Kind = text::JsonValue::Kind;
  if constexpr (std::is_same_v<T, text::JsonValue>) {
    return value;
  } else if constexpr (std::is_null_pointer_v<T>) {
    return {};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {.kind = Kind::kBoolean, .boolean = value};
  } else if constexpr (std::integral<T>) {
    return {.kind = Kind::kNumber, .text = std::to_string(value)};
  } else if constexpr (std::floating_point<T>) {
    if (!std::isfinite(value)) return {};
    return {.kind = Kind::kNumber, .text = fmt::format("{}", value)};
  } else {
    return {.kind = Kind::kString, .text = std::string(std::string_view(value))};
  }
}

template <class T>
[[nodiscard]] text::JsonValue to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : text::JsonValue{};
}

struct JsonMember {
  template <class T>
  JsonMember(std::string_view name, const T& content) : key(name), value(to_json(content)) {}

  std::string key;
  text::JsonValue value;
};

inline void add_member(text::JsonValue& object, JsonMember member) {
  object.keys.push_back(std::move(member.key));
  object.items.push_back(std::move(member.value));
}

[[nodiscard]] inline text::JsonValue json_object(std::initializer_list<JsonMember> members) {
  text::JsonValue object{.kind = text::JsonValue::Kind::kObject};
  for (const JsonMember& member : members) add_member(object, member);
  return object;
}

[[nodiscard]] inline text::JsonValue json_array(std::vector<text::JsonValue> items = {}) {
  return {.kind = text::JsonValue::Kind::kArray, .items = std::move(items)};
}

/// Its text, in one line.
[[nodiscard]] inline std::string json_text(const text::JsonValue& value) {
  return text::dump_json(value, text::JsonStyle::kCompact);
}

}  // namespace sluice::server
