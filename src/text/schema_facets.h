#pragma once
#include "text/json_value.h"
#include "text/number_range.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// Sets of kinds of JSON values, as bits.
struct Kinds {
  static constexpr uint8_t kNull = 1, kBoolean = 2, kInteger = 4, kFraction = 8, kString = 16,
                           kArray = 32, kObject = 64, kAll = 127;
  static constexpr uint8_t kNumber = kInteger | kFraction;
};

/// What several schemas demand together: their keywords but for $ref, allOf, anyOf and oneOf, which
/// tell only where more schemas are.
struct SchemaFacets {
  struct Property {
    std::string key;
    JsonValue schema;
  };

  uint8_t kinds = Kinds::kAll;
  /// The kinds that keywords are about; a schema without a type means these alone.
  uint8_t mentioned = 0;
  bool has_details = false;  ///< There are keywords but for the type and values.
  std::optional<std::vector<JsonValue>> values;  ///< Of enum and const.
  NumberRange number;
  uint32_t min_length = 0, min_items = 0, min_properties = 0;
  std::optional<uint32_t> max_length, max_items, max_properties;
  std::optional<std::string> pattern, format;  ///< `format` only of those that have a pattern.
  std::vector<JsonValue> prefix_items;
  std::optional<JsonValue> items;
  bool lists_properties = false;  ///< Maybe none.
  std::vector<Property> properties;
  std::set<std::string, std::less<>> required;
  std::optional<JsonValue> additional_properties;

  /// Adds the demands of `schema`, an object. Throws Error(kInvalidInput) that begins with `path`
  /// or a keyword below it for a keyword that is malformed, that restricts and is not supported, or
  /// that cannot be combined with what was there before.
  void add(const JsonValue& schema, const std::string& path);

  /// Ends the adding: drops the kinds that are not meant.
  void finish();

  [[nodiscard]] const Property* find_property(std::string_view key) const;
};

/// The schema of what satisfies all of `schemas`, at least one.
[[nodiscard]] JsonValue all_of(std::vector<JsonValue> schemas);

/// Throws Error(kInvalidInput) that begins with `path`.
[[noreturn]] void refuse_schema(const std::string& path, std::string_view what);

}  // namespace sluice::text
