#include "text/schema_parts.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace sluice::text {
namespace {

using Kind = JsonValue::Kind;

constexpr size_t kDemandsMax = 200;

// One step of a JSON pointer: ~1 and ~0, and before that %XX, stand for other characters.
std::string unescape_step(std::string_view step) {
  std::string plain;
  for (size_t i = 0; i < step.size(); ++i) {
    uint8_t byte = 0;
    const char* const hex = step.data() + i + 1;
    if (step[i] == '%' && i + 2 < step.size() &&
        std::from_chars(hex, hex + 2, byte, 16).ptr == hex + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += step[i];
    }
  }
  std::string key;
  for (size_t i = 0; i < plain.size(); ++i) {
    const bool is_escape = plain[i] == '~' && i + 1 < plain.size();
    if (is_escape && (plain[i + 1] == '0' || plain[i + 1] == '1')) {
      key += plain[++i] == '0' ? '~' : '/';
    } else {
      key += plain[i];
    }
  }
  return key;
}

const JsonValue* member(const JsonValue& value, const std::string& key) {
  if (value.kind != Kind::kArray) return value.find(key);
  size_t index = 0;
  const char* const end = key.data() + key.size();
  const auto read = std::from_chars(key.data(), end, index);
  return read.ec == std::errc() && read.ptr == end && index < value.items.size()
             ? &value.items[index]
             : nullptr;
}

const JsonValue& resolve(const JsonValue& root, const JsonValue& reference,
                         const std::string& path) {
  if (reference.kind != Kind::kString) refuse_schema(path, "must be a string");
  std::string_view rest = reference.text;
  if (rest != "#" && !rest.starts_with("#/")) {
    refuse_schema(path,
                  fmt::format("\"{}\": only references that begin with #/ are supported", rest));
  }
  rest.remove_prefix(1);
  const JsonValue* value = &root;
  while (!rest.empty() && value != nullptr) {
    rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    value = member(*value, unescape_step(rest.substr(0, end)));
    rest.remove_prefix(end);
  }
  if (value == nullptr) {
    refuse_schema(path, fmt::format("\"{}\" does not exist", reference.text));
  }
  return *value;
}

bool is_choice(std::string_view keyword) { return keyword == "anyOf" || keyword == "oneOf"; }

// What is left of a schema without one keyword and those that demand nothing; none when that is
// nothing.
std::optional<JsonValue> without(const JsonValue& schema, std::string_view keyword) {
  constexpr std::string_view kSilent[] = {"$defs", "definitions", "title",   "description",
                                          "$id",   "$schema",     "default", "$comment"};
  JsonValue rest{.kind = Kind::kObject};
  for (size_t i = 0; i < schema.keys.size(); ++i) {
    const std::string& key = schema.keys[i];
    if (key == keyword ||
        std::find(std::begin(kSilent), std::end(kSilent), key) != std::end(kSilent)) {
      continue;
    }
    rest.keys.push_back(key);
    rest.items.push_back(schema.items[i]);
  }
  if (rest.keys.empty()) return std::nullopt;
  return rest;
}

class Taker {
 public:
  explicit Taker(const SchemaSource& source) : source_(source) {}

  SchemaParts take() {
    if (const JsonValue* target = lone_reference()) return {.reference = target};
    add(source_.schema, source_.path);
    for (size_t steps = 0; !to_follow_.empty(); ++steps) {
      if (steps > kDemandsMax) {
        refuse_schema(source_.path, "has too many schemas in allOf and references");
      }
      if (!follow()) return {.is_impossible = true};
    }
    if (had_reference_ && demands_.empty() && !had_true_) {
      refuse_schema(source_.path, "refers to nothing but itself");
    }
    if (std::optional<std::vector<SchemaParts::Choice>> choices = take_choices()) {
      return {.choices = std::move(choices)};
    }
    SchemaParts parts;
    for (const Demand& demand : demands_) parts.facets.add(demand.schema, demand.path);
    parts.facets.finish();
    return parts;
  }

 private:
  struct Demand {
    JsonValue schema;
    std::string path;
  };

  // The target of a schema that is a reference and nothing else.
  const JsonValue* lone_reference() {
    const JsonValue* reference = source_.schema.find("$ref");
    if (reference == nullptr || without(source_.schema, "$ref")) return nullptr;
    return &resolve(source_.root, *reference, source_.path + ".$ref");
  }

  // To be followed next.
  void add(const JsonValue& schema, const std::string& path) {
    if (schema.kind != Kind::kObject && schema.kind != Kind::kBoolean) {
      refuse_schema(path, "must be a schema: an object, true or false");
    }
    add_rest(schema.kind == Kind::kObject ? without(schema, "") : schema, path);
  }

  void add_rest(std::optional<JsonValue> schema, const std::string& path) {
    if (schema) {
      to_follow_.push_back({std::move(*schema), path});
    } else {
      had_true_ = true;
    }
  }

  // Follows the last demand: a reference or allOf is replaced by what it stands for, others stay.
  // False: nothing satisfies it.
  bool follow() {
    const Demand demand = std::move(to_follow_.back());
    to_follow_.pop_back();
    const JsonValue& schema = demand.schema;
    if (schema.kind == Kind::kBoolean) {
      had_true_ = true;
      return schema.boolean;
    }
    if (const JsonValue* reference = schema.find("$ref")) {
      had_reference_ = true;
      if (schema.keys.size() > 1) add_rest(without(schema, "$ref"), demand.path);
      // What is demanded twice is demanded once; so a circle ends, too.
      if (followed_.insert(reference->text).second) {
        add(resolve(source_.root, *reference, demand.path + ".$ref"), demand.path);
      }
    } else if (const JsonValue* all = schema.find("allOf")) {
      const std::string path = demand.path + ".allOf";
      if (all->kind != Kind::kArray || all->items.empty()) {
        refuse_schema(path, "must be an array of at least one schema");
      }
      if (schema.keys.size() > 1) add_rest(without(schema, "allOf"), demand.path);
      for (size_t i = all->items.size(); i-- > 0;) {
        add(all->items[i], fmt::format("{}[{}]", path, i));
      }
    } else {
      demands_.push_back(demand);
    }
    return true;
  }

  // Draws the other demands into the alternatives of the first choice.
  std::optional<std::vector<SchemaParts::Choice>> take_choices() {
    for (Demand& demand : demands_) {
      const auto keyword =
          std::find_if(demand.schema.keys.begin(), demand.schema.keys.end(), is_choice);
      if (keyword == demand.schema.keys.end()) continue;
      const std::string path = fmt::format("{}.{}", demand.path, *keyword);
      const JsonValue list = *demand.schema.find(*keyword);
      if (list.kind != Kind::kArray || list.items.empty()) {
        refuse_schema(path, "must be an array of at least one schema");
      }
      std::optional<JsonValue> rest = without(demand.schema, *keyword);
      demand.schema = rest ? std::move(*rest) : JsonValue{.kind = Kind::kBoolean, .boolean = true};
      std::vector<SchemaParts::Choice> choices;
      for (size_t i = 0; i < list.items.size(); ++i) {
        std::vector<JsonValue> all;
        for (const Demand& other : demands_) {
          if (other.schema.kind == Kind::kObject) all.push_back(other.schema);
        }
        all.push_back(list.items[i]);
        choices.push_back({all_of(std::move(all)), fmt::format("{}[{}]", path, i)});
      }
      return choices;
    }
    return std::nullopt;
  }

  const SchemaSource& source_;
  std::vector<Demand> to_follow_, demands_;
  std::set<std::string> followed_;
  bool had_reference_ = false, had_true_ = false;
};

}  // namespace

SchemaParts take_apart(const SchemaSource& source) { return Taker(source).take(); }

}  // namespace sluice::text
