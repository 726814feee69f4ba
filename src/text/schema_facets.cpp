#include "text/schema_facets.h"

#include "base/error.h"
#include "text/string_pattern.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice::text {
namespace {

using Kind = JsonValue::Kind;

// More would only fill the memory with states.
constexpr uint32_t kCountMax = 50'000;

const JsonValue* find(const JsonValue& schema, std::string_view key, Kind kind,
                      const std::string& path, std::string_view expected) {
  const JsonValue* value = schema.find(key);
  if (value != nullptr && value->kind != kind) {
    refuse_schema(fmt::format("{}.{}", path, key), expected);
  }
  return value;
}

void check_schema(const JsonValue& schema, const std::string& path) {
  if (schema.kind != Kind::kObject && schema.kind != Kind::kBoolean) {
    refuse_schema(path, "must be a schema: an object, true or false");
  }
}

uint8_t kinds_of_type(const JsonValue& type, const std::string& path) {
  struct Name {
    std::string_view name;
    uint8_t kinds;
  };
  constexpr Name kNames[] = {{"null", Kinds::kNull},       {"boolean", Kinds::kBoolean},
                             {"integer", Kinds::kInteger}, {"number", Kinds::kNumber},
                             {"string", Kinds::kString},   {"array", Kinds::kArray},
                             {"object", Kinds::kObject}};
  for (const Name& known : kNames) {
    if (type.kind == Kind::kString && known.name == type.text) return known.kinds;
  }
  refuse_schema(path,
                "must be null, boolean, integer, number, string, array, object or a list of these");
}

// The schema that `more` makes of `schema` where there is one.
void combine(std::optional<JsonValue>& schema, const JsonValue& more) {
  schema = schema ? all_of({std::move(*schema), more}) : more;
}

// Keywords that restrict and have no counterpart here.
constexpr std::string_view kUnsupported[] = {"not",
                                             "if",
                                             "then",
                                             "else",
                                             "contains",
                                             "minContains",
                                             "maxContains",
                                             "patternProperties",
                                             "propertyNames",
                                             "dependencies",
                                             "$dynamicRef",
                                             "$recursiveRef",
                                             "dependentRequired",
                                             "dependentSchemas",
                                             "additionalItems",
                                             "unevaluatedItems",
                                             "unevaluatedProperties"};

// Reads one schema into facets.
class Reader {
 public:
  Reader(const JsonValue& schema, const std::string& path, SchemaFacets& facets)
      : schema_(schema), path_(path), facets_(facets) {}

  void read() {
    for (const std::string_view keyword : kUnsupported) {
      if (schema_.find(keyword) != nullptr) refuse(keyword, "is not supported");
    }
    read_type();
    read_values();
    read_number();
    read_string();
    read_array();
    read_object();
  }

 private:
  [[noreturn]] void refuse(std::string_view keyword, std::string_view what) const {
    refuse_schema(at(keyword), what);
  }
  std::string at(std::string_view keyword) const { return fmt::format("{}.{}", path_, keyword); }

  const JsonValue* take(std::string_view keyword, uint8_t kind) {
    const JsonValue* value = schema_.find(keyword);
    if (value != nullptr) {
      facets_.mentioned |= kind;
      facets_.has_details = true;
    }
    return value;
  }

  void read_type() {
    const JsonValue* type = schema_.find("type");
    if (type == nullptr) return;
    uint8_t kinds = 0;
    if (type->kind == Kind::kArray) {
      for (const JsonValue& one : type->items) kinds |= kinds_of_type(one, at("type"));
    } else {
      kinds = kinds_of_type(*type, at("type"));
    }
    const JsonValue* nullable =
        find(schema_, "nullable", Kind::kBoolean, path_, "must be true or false");
    if (nullable != nullptr && nullable->boolean) kinds |= Kinds::kNull;
    facets_.kinds &= kinds;
    facets_.mentioned |= kinds;
  }

  void read_values() {
    if (const JsonValue* values = find(schema_, "enum", Kind::kArray, path_, "must be an array")) {
      keep_values(values->items);
    }
    if (const JsonValue* value = schema_.find("const")) keep_values({*value});
  }

  void keep_values(const std::vector<JsonValue>& values) {
    if (!facets_.values) {
      facets_.values = values;
      return;
    }
    std::set<std::string> texts;
    for (JsonValue value : values) {
      sort_keys(value);
      texts.insert(dump_json(value, JsonStyle::kCompact));
    }
    std::erase_if(*facets_.values, [&](JsonValue value) {
      sort_keys(value);
      return !texts.contains(dump_json(value, JsonStyle::kCompact));
    });
  }

  Decimal decimal(const JsonValue& value, std::string_view keyword) const {
    if (value.kind != Kind::kNumber) refuse(keyword, "must be a number");
    const std::optional<Decimal> number = Decimal::parse(value.text);
    if (!number) refuse(keyword, "has more than 40 digits before or behind the point");
    return *number;
  }

  void read_number() {
    for (const bool exclusive : {false, true}) {
      const char* const lower = exclusive ? "exclusiveMinimum" : "minimum";
      const char* const upper = exclusive ? "exclusiveMaximum" : "maximum";
      if (const JsonValue* value = take(lower, Kinds::kNumber)) {
        facets_.number.raise({decimal(*value, lower), exclusive});
      }
      if (const JsonValue* value = take(upper, Kinds::kNumber)) {
        facets_.number.reduce({decimal(*value, upper), exclusive});
      }
    }
    if (const JsonValue* value = take("multipleOf", Kinds::kNumber)) {
      const uint32_t factor = multiple(decimal(*value, "multipleOf"));
      facets_.number.multiple_of = std::lcm(facets_.number.multiple_of, factor);
      if (facets_.number.multiple_of > NumberRange::kMultipleMax) refuse_multiple();
      facets_.kinds &= static_cast<uint8_t>(~Kinds::kFraction);
    }
  }

  [[noreturn]] void refuse_multiple() const {
    refuse("multipleOf", fmt::format("must be an integer from 1 to {}; others are not supported",
                                     NumberRange::kMultipleMax));
  }

  uint32_t multiple(const Decimal& factor) const {
    if (factor.negative || !factor.is_integer() || factor.integer == "0" ||
        factor.integer.size() > 4) {
      refuse_multiple();
    }
    return static_cast<uint32_t>(std::stoul(factor.integer));
  }

  // A length or a number of things.
  std::optional<uint32_t> count(std::string_view keyword, uint8_t kind) {
    const JsonValue* value = take(keyword, kind);
    if (value == nullptr) return std::nullopt;
    const Decimal number = decimal(*value, keyword);
    if (number.negative || !number.is_integer())
      refuse(keyword, "must not be negative or a fraction");
    if (number.integer.size() > 9 || std::stoul(number.integer) > kCountMax) {
      refuse(keyword, fmt::format("more than {} is not supported", kCountMax));
    }
    return static_cast<uint32_t>(std::stoul(number.integer));
  }

  void read_counts(std::string_view least, std::string_view most, uint8_t kind, uint32_t& minimum,
                   std::optional<uint32_t>& maximum) {
    if (const std::optional<uint32_t> value = count(least, kind))
      minimum = std::max(minimum, *value);
    if (const std::optional<uint32_t> value = count(most, kind)) {
      maximum = std::min(maximum.value_or(*value), *value);
    }
  }

  void read_string() {
    read_counts("minLength", "maxLength", Kinds::kString, facets_.min_length, facets_.max_length);
    if (take("pattern", Kinds::kString) != nullptr) {
      const JsonValue* pattern = find(schema_, "pattern", Kind::kString, path_, "must be a string");
      if (facets_.pattern && *facets_.pattern != pattern->text) {
        refuse("pattern", "a second pattern for the same string is not supported");
      }
      facets_.pattern = pattern->text;
    }
    const JsonValue* format = find(schema_, "format", Kind::kString, path_, "must be a string");
    if (format != nullptr && !format_pattern(format->text).empty()) {
      if (facets_.format && *facets_.format != format->text) {
        refuse("format", "a second format for the same string is not supported");
      }
      facets_.format = format->text;
      take("format", Kinds::kString);
    }
    if (facets_.pattern && facets_.format) {
      refuse_schema(path_, "a pattern and a format for the same string are not supported");
    }
  }

  void read_array() {
    const bool had_items = facets_.items || !facets_.prefix_items.empty();
    read_counts("minItems", "maxItems", Kinds::kArray, facets_.min_items, facets_.max_items);
    if (const JsonValue* unique = take("uniqueItems", Kinds::kArray)) {
      if (unique->kind != Kind::kBoolean || unique->boolean) {
        refuse("uniqueItems", "is not supported");
      }
    }
    if (take("prefixItems", Kinds::kArray) != nullptr) {
      const JsonValue* prefix =
          find(schema_, "prefixItems", Kind::kArray, path_, "must be an array of schemas");
      if (had_items) refuse("prefixItems", "cannot be combined with another schema's items");
      for (const JsonValue& item : prefix->items) check_schema(item, at("prefixItems"));
      facets_.prefix_items = prefix->items;
    }
    if (const JsonValue* items = take("items", Kinds::kArray)) {
      if (items->kind == Kind::kArray) {
        refuse("items", "a list of schemas is not supported; use prefixItems");
      }
      check_schema(*items, at("items"));
      if (had_items && !facets_.prefix_items.empty()) {
        refuse("items", "cannot be combined with another schema's prefixItems");
      }
      combine(facets_.items, *items);
    }
  }

  void read_object() {
    read_counts("minProperties", "maxProperties", Kinds::kObject, facets_.min_properties,
                facets_.max_properties);
    const JsonValue* additional = take("additionalProperties", Kinds::kObject);
    if (additional != nullptr) check_schema(*additional, at("additionalProperties"));
    if (take("properties", Kinds::kObject) != nullptr) facets_.lists_properties = true;
    static const JsonValue none{.kind = Kind::kObject};
    const JsonValue* properties =
        find(schema_, "properties", Kind::kObject, path_, "must be an object");
    read_properties(properties == nullptr ? none : *properties, additional);
    if (take("required", Kinds::kObject) == nullptr) return;
    for (const JsonValue& key :
         find(schema_, "required", Kind::kArray, path_, "must be an array of strings")->items) {
      if (key.kind != Kind::kString) refuse("required", "must be an array of strings");
      facets_.required.insert(key.text);
    }
  }

  // A property that only one of two schemas lists is an additional one of the other.
  void read_properties(const JsonValue& properties, const JsonValue* additional) {
    for (SchemaFacets::Property& known : facets_.properties) {
      if (additional != nullptr && properties.find(known.key) == nullptr) {
        known.schema = all_of({std::move(known.schema), *additional});
      }
    }
    for (size_t i = 0; i < properties.keys.size(); ++i) {
      check_schema(properties.items[i], fmt::format("{}.{}", at("properties"), properties.keys[i]));
      const auto known =
          std::find_if(facets_.properties.begin(), facets_.properties.end(),
                       [&](const auto& property) { return property.key == properties.keys[i]; });
      if (known != facets_.properties.end()) {
        known->schema = all_of({std::move(known->schema), properties.items[i]});
        continue;
      }
      std::optional<JsonValue> schema = facets_.additional_properties;
      combine(schema, properties.items[i]);
      facets_.properties.push_back({properties.keys[i], std::move(*schema)});
    }
    if (additional != nullptr) combine(facets_.additional_properties, *additional);
  }

  const JsonValue& schema_;
  const std::string& path_;
  SchemaFacets& facets_;
};

}  // namespace

void SchemaFacets::add(const JsonValue& schema, const std::string& path) {
  Reader(schema, path, *this).read();
}

void SchemaFacets::finish() {
  if (mentioned != 0) kinds &= mentioned;
}

const SchemaFacets::Property* SchemaFacets::find_property(std::string_view key) const {
  const auto found = std::find_if(properties.begin(), properties.end(),
                                  [&](const Property& property) { return property.key == key; });
  return found == properties.end() ? nullptr : &*found;
}

JsonValue all_of(std::vector<JsonValue> schemas) {
  if (schemas.size() == 1) return std::move(schemas.front());
  JsonValue list{.kind = Kind::kArray, .items = std::move(schemas)};
  JsonValue schema{.kind = Kind::kObject, .keys = {"allOf"}};
  schema.items.push_back(std::move(list));
  return schema;
}

void refuse_schema(const std::string& path, std::string_view what) {
  throw Error(ErrorCode::kInvalidInput, "{}: {}", path, what);
}

}  // namespace sluice::text
