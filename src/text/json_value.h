#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// A JSON value that keeps the order of keys and the exact value of integers, as Python's json
/// module does.
struct JsonValue {
  enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  /// Of a string, its contents. Of a number, what Python prints for it: 1.50 is 1.5, 1E5 is
  /// 100000.0.
  std::string text{};
  std::vector<std::string> keys{};  ///< Of an object, unique, one per item.
  std::vector<JsonValue> items{};   ///< Of an array or object.

  /// The value of a key; null when this is no object or lacks it.
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
};

/// What parse_json() found: a value, or why there is none.
struct JsonParse {
  std::optional<JsonValue> value;
  std::string error;
};

/// Reads one JSON text, RFC 8259. Of equal keys the last value counts and the first place. Values
/// nested deeper than 256 are refused, which bounds the recursion of everything that walks a value.
[[nodiscard]] JsonParse parse_json(std::string_view text);

/// Sorts the keys of all objects by code point.
void sort_keys(JsonValue& value);

/// The two ways in which the chat format writes JSON; non-ASCII stays as it is in both.
enum class JsonStyle : uint8_t {
  kCompact,  ///< {"a":[1,2]}
  kSpaced,   ///< {"a": [1, 2]}
};

[[nodiscard]] std::string dump_json(const JsonValue& value, JsonStyle style);

/// Appends `text`, which is UTF-8, as a JSON string.
void append_json_string(std::string_view text, std::string& out);

/// The same without the quotes, for a string that is written in parts.
void append_json_escaped(std::string_view text, std::string& out);

}  // namespace sluice::text
