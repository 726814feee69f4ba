#include "text/json_schema.h"

#include "text/schema_parts.h"
#include "text/string_grammar.h"
#include "text/string_pattern.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::text {
namespace {

using Kind = JsonValue::Kind;
using NodeId = ByteGrammar::NodeId;
using RuleId = ByteGrammar::RuleId;

constexpr uint32_t kRulesMax = 10'000;
// Each property that may be left out is one more way to go on.
constexpr size_t kOptionalMax = 150;

uint8_t kind_of(const JsonValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return Kinds::kNull;
    case Kind::kBoolean:
      return Kinds::kBoolean;
    case Kind::kNumber:
      return value.text.find_first_of(".eE") == std::string::npos ? Kinds::kInteger
                                                                  : Kinds::kFraction;
    case Kind::kString:
      return Kinds::kString;
    case Kind::kArray:
      return Kinds::kArray;
    case Kind::kObject:
      break;
  }
  return Kinds::kObject;
}

// A rule per schema. Bodies of rules are made one after the other, so schemas that are nested or
// refer to each other, however deeply, need no recursion here.
class Compiler {
 public:
  Compiler(const SchemaSource& source, JsonStyle style, StringForm form)
      : source_(source),
        form_(form),
        comma_(style == JsonStyle::kCompact ? "," : ", "),
        colon_(style == JsonStyle::kCompact ? ":" : ": "),
        style_(style),
        strings_(grammar_, form) {}

  ByteGrammar compile() {
    const RuleId root = rule_of(source_.schema, source_.path);
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const Job job = std::move(jobs_[i]);
      add_texts(job.rule, job.schema, job.path);
    }
    grammar_.seal(root);
    return std::move(grammar_);
  }

 private:
  struct Job {
    RuleId rule;
    JsonValue schema;
    std::string path;
  };

  // Schemas that are written alike share a rule, which also ends circles of references.
  RuleId rule_of(const JsonValue& schema, const std::string& path) {
    const auto [entry, is_new] = rules_.try_emplace(dump_json(schema, JsonStyle::kCompact), 0);
    if (!is_new) return entry->second;
    if (grammar_.rule_count() == kRulesMax) {
      refuse_schema(source_.path, fmt::format("has more than {} different parts", kRulesMax));
    }
    entry->second = grammar_.add_rule();
    jobs_.push_back({entry->second, schema, path});
    return entry->second;
  }

  RuleId rule_of_target(const JsonValue& target, const std::string& path) {
    const auto [entry, is_new] = targets_.try_emplace(&target, 0);
    if (is_new) entry->second = rule_of(target, path);
    return entry->second;
  }

  void add_texts(RuleId rule, const JsonValue& schema, const std::string& path) {
    const SchemaParts parts = take_apart({source_.root, schema, path});
    if (parts.reference != nullptr) {
      grammar_.add_alternative(rule, rule_of_target(*parts.reference, path));
    } else if (parts.choices) {
      for (const SchemaParts::Choice& choice : *parts.choices) {
        grammar_.add_alternative(rule, rule_of(choice.schema, choice.path));
      }
    } else if (!parts.is_impossible) {
      add_facets(rule, parts.facets, path);
    }
  }

  void add_facets(RuleId rule, const SchemaFacets& facets, const std::string& path) {
    if (facets.values) return add_values(rule, facets, path);
    if (allows(facets, Kinds::kString)) add_string(rule, facets, path);
    if (form_ == StringForm::kRaw) return;
    std::vector<std::string> words;
    if (allows(facets, Kinds::kNull)) words.emplace_back("null");
    if (allows(facets, Kinds::kBoolean)) words.insert(words.end(), {"true", "false"});
    strings_.add_texts(rule, words);
    if (allows(facets, Kinds::kNumber)) {
      NumberRange range = facets.number;
      range.integers = !allows(facets, Kinds::kFraction);
      add_numbers(grammar_, rule, range);
    }
    if (allows(facets, Kinds::kArray)) add_array(rule, facets, path);
    if (allows(facets, Kinds::kObject)) add_object(rule, facets, path);
  }

  static bool allows(const SchemaFacets& facets, uint8_t kinds) {
    return (facets.kinds & kinds) != 0;
  }

  void add_values(RuleId rule, const SchemaFacets& facets, const std::string& path) {
    if (facets.has_details) {
      refuse_schema(path, "enum or const beside other keywords than type is not supported");
    }
    std::vector<std::string> texts;
    for (const JsonValue& value : *facets.values) {
      if (!allows(facets, kind_of(value))) continue;
      if (value.kind == Kind::kNumber && !Decimal::parse(value.text)) {
        refuse_schema(path, "a number with more than 40 digits is not supported");
      }
      if (form_ == StringForm::kJson) {
        texts.push_back(dump_json(value, style_));
      } else if (value.kind == Kind::kString) {
        texts.push_back(value.text);
      }
    }
    strings_.add_texts(rule, texts);
  }

  void add_string(RuleId rule, const SchemaFacets& facets, const std::string& path) {
    const StringGrammar::Lengths lengths = {facets.min_length, facets.max_length};
    if (facets.pattern) {
      strings_.add_matching(rule, parse_pattern(*facets.pattern, path + ".pattern"), lengths);
    } else if (facets.format) {
      strings_.add_matching(rule, parse_pattern(format_pattern(*facets.format), path + ".format"),
                            lengths);
    } else {
      strings_.add_any(rule, lengths);
    }
  }

  void add_array(RuleId rule, const SchemaFacets& facets, const std::string& path) {
    const NodeId start = grammar_.add_node(), end = grammar_.add_node();
    grammar_.add_start(rule, start);
    grammar_.set_accepting(end);
    const size_t prefix = facets.prefix_items.size();
    const bool is_closed = prefix > 0 && !facets.items && facets.min_items <= prefix;
    const size_t most =
        std::min<size_t>(facets.max_items.value_or(UINT32_MAX), is_closed ? prefix : UINT32_MAX);
    // From here on all items are alike.
    const size_t alike = std::max<size_t>(prefix, facets.min_items);
    NodeId node = grammar_.add_text(start, "[");
    for (size_t count = 0;; ++count) {
      if (count >= facets.min_items) grammar_.add_bytes(node, ']', ']', end);
      if (count >= most) return;
      const bool repeats = most == UINT32_MAX && count > alike;
      const NodeId before = count == 0 ? node : grammar_.add_text(node, comma_);
      const NodeId next = repeats ? node : grammar_.add_node();
      grammar_.add_call(before, item_rule(facets, count, path), next);
      if (repeats) return;
      node = next;
    }
  }

  RuleId item_rule(const SchemaFacets& facets, size_t index, const std::string& path) {
    if (index < facets.prefix_items.size()) {
      return rule_of(facets.prefix_items[index], fmt::format("{}.prefixItems[{}]", path, index));
    }
    return facets.items ? rule_of(*facets.items, path + ".items") : rule_of(anything_, path);
  }

  // The properties in order, each of which is written or, unless it is required, passed over.
  void add_object(RuleId rule, const SchemaFacets& facets, const std::string& path) {
    std::vector<SchemaFacets::Property> properties = facets.properties;
    const bool is_open = facets.additional_properties ? !is_false(*facets.additional_properties)
                                                      : !facets.lists_properties;
    const JsonValue& additional = facets.additional_properties.value_or(anything_);
    for (const std::string& key : facets.required) {
      if (facets.find_property(key) == nullptr) properties.push_back({key, additional});
    }
    check_counts(facets, properties.size(), is_open, path);
    const NodeId start = grammar_.add_node(), end = grammar_.add_node();
    grammar_.add_start(rule, start);
    grammar_.set_accepting(end);
    // Behind a property or before the first one, which has no comma.
    NodeId first = grammar_.add_text(start, "{"), later = grammar_.add_node();
    std::vector<std::string> names;
    for (const SchemaFacets::Property& property : properties) {
      const RuleId value =
          rule_of(property.schema, fmt::format("{}.properties.{}", path, property.key));
      const std::string key = quoted(property.key) + colon_;
      const NodeId first_value = grammar_.add_text(first, key);
      const NodeId later_value = grammar_.add_text(later, comma_ + key);
      const NodeId next_first = grammar_.add_node(), next_later = grammar_.add_node();
      grammar_.add_call(first_value, value, next_later);
      grammar_.add_call(later_value, value, next_later);
      if (!facets.required.contains(property.key)) {
        grammar_.add_empty(first, next_first);
        grammar_.add_empty(later, next_later);
      }
      first = next_first;
      later = next_later;
      names.push_back(property.key);
    }
    if (is_open) {
      const RuleId value = rule_of(additional, path + ".additionalProperties");
      const NodeId name = grammar_.add_node();
      grammar_.add_empty(first, name);
      grammar_.add_empty(grammar_.add_text(later, comma_), name);
      const NodeId behind = strings_.add_other_names(name, names);
      grammar_.add_call(grammar_.add_text(behind, colon_), value, later);
    }
    grammar_.add_bytes(first, '}', '}', end);
    grammar_.add_bytes(later, '}', '}', end);
  }

  static bool is_false(const JsonValue& schema) {
    return schema.kind == Kind::kBoolean && !schema.boolean;
  }

  static void check_counts(const SchemaFacets& facets, size_t count, bool is_open,
                           const std::string& path) {
    if (facets.min_properties > facets.required.size()) {
      refuse_schema(path + ".minProperties", "more than are required is not supported");
    }
    if (facets.max_properties && (is_open || *facets.max_properties < count)) {
      refuse_schema(path + ".maxProperties", "less than all properties is not supported");
    }
    if (count > facets.required.size() + kOptionalMax) {
      refuse_schema(
          path + ".properties",
          fmt::format("more than {} that are not required are not supported", kOptionalMax));
    }
  }

  static std::string quoted(const std::string& text) {
    return dump_json({.kind = Kind::kString, .text = text}, JsonStyle::kCompact);
  }

  const SchemaSource& source_;
  const StringForm form_;
  const std::string comma_, colon_;
  const JsonStyle style_;
  const JsonValue anything_{.kind = Kind::kBoolean, .boolean = true};
  ByteGrammar grammar_;
  StringGrammar strings_;
  std::map<std::string, RuleId, std::less<>> rules_;  // By the text of a schema.
  std::map<const JsonValue*, RuleId> targets_;        // Of references.
  std::vector<Job> jobs_;
};

}  // namespace

ByteGrammar compile_schema(const SchemaSource& source, JsonStyle style, StringForm strings) {
  return Compiler(source, style, strings).compile();
}

void check_satisfiable(const ByteGrammar& grammar, const std::string& path) {
  if (grammar.has_text(grammar.root())) return;
  refuse_schema(path, fmt::format("no value nested less deeply than {} satisfies it",
                                  ByteGrammar::kDepthMax));
}

std::optional<SchemaFacets> schema_facets(const SchemaSource& source) {
  // A chain of references, which may be a circle, is followed for a while.
  constexpr int kReferencesMax = 100;
  const JsonValue* schema = &source.schema;
  for (int i = 0; i < kReferencesMax; ++i) {
    SchemaParts parts = take_apart({source.root, *schema, source.path});
    if (parts.reference == nullptr) {
      if (parts.choices || parts.is_impossible) return std::nullopt;
      return std::move(parts.facets);
    }
    schema = parts.reference;
  }
  return std::nullopt;
}

}  // namespace sluice::text
