#include "server/chat_conversion.h"

#include "server/json.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace sluice::server {

using text::JsonValue;

JsonValue chat_text(const std::string& text) {
  return json_object({{"type", "text"}, {"text", text}});
}

JsonValue chat_function(JsonValue function) {
  return json_object({{"type", "function"}, {"function", function}});
}

std::string required_string(const Fields& fields, std::string_view key) {
  std::optional<std::string> text = fields.string(key);
  if (!text) fields.refuse(key, "must be a string");
  return std::move(*text);
}

void for_each_object(const Fields& fields, std::string_view key,
                     const std::function<void(const Fields&)>& take) {
  const JsonValue* array = fields.find(key);
  if (array == nullptr) return;
  if (array->kind != JsonValue::Kind::kArray) fields.refuse(key, "must be an array");
  for (size_t i = 0; i < array->items.size(); ++i) {
    take(Fields(array->items[i], fmt::format("{}[{}]", fields.path(key), i)));
  }
}

std::optional<std::string> read_effort(const Fields& fields) {
  constexpr std::array<std::string_view, 6> kKnown = {"none", "minimal", "low",
                                                      "high", "xhigh",   "max"};
  std::optional<std::string> effort = fields.string("effort");
  if (effort == "medium") effort = "high";
  if (effort && std::ranges::find(kKnown, *effort) == kKnown.end()) {
    fields.refuse("effort", "must be none, minimal, low, medium, high, xhigh or max");
  }
  return effort;
}

}  // namespace sluice::server
