#include "text/tool_grammar.h"

#include "base/error.h"

#include <optional>
#include <utility>

namespace sluice::text {
namespace {

using Kind = JsonValue::Kind;

struct Type {
  std::string_view name;  // The same in schemas and in the chat format.
  uint8_t kinds;
};
constexpr Type kTypes[] = {{"string", Kinds::kString},   {"number", Kinds::kNumber},
                           {"boolean", Kinds::kBoolean}, {"null", Kinds::kNull},
                           {"object", Kinds::kObject},   {"array", Kinds::kArray}};

const JsonValue kAnything{.kind = Kind::kBoolean, .boolean = true};

// The schema of those of its values that have a type.
JsonValue of_type(const JsonValue& schema, std::string_view type) {
  JsonValue only{.kind = Kind::kObject, .keys = {"type"}};
  only.items.push_back({.kind = Kind::kString, .text = std::string(type)});
  return schema.kind == Kind::kBoolean && schema.boolean ? only : all_of({schema, std::move(only)});
}

class Compiler {
 public:
  Compiler(const ToolSignature& signature, const TokenTree& tree)
      : signature_(signature), tree_(tree), path_(signature.path) {
    tool_.name = signature.name;
  }

  ToolGrammar compile() {
    if (signature_.parameters.kind == Kind::kNull) return std::move(tool_);
    const JsonValue& parameters = signature_.parameters;
    const auto facets = attempt([&] { return schema_facets({parameters, parameters, path_}); });
    if (!facets) {
      add_json(kAnything);
    } else if (*facets && is_plain(**facets)) {
      add_arguments(**facets);
    } else {
      add_json(parameters);
    }
    return std::move(tool_);
  }

 private:
  // What `action` returns, or nothing when the schema is refused and need not be kept.
  template <class Action>
  auto attempt(const Action& action) -> std::optional<decltype(action())> {
    try {
      return action();
    } catch (const Error& error) {
      if (signature_.strict) throw;
      tool_.ignored.emplace_back(error.what());
      return std::nullopt;
    }
  }

  // Whether the object is told by its properties alone.
  static bool is_plain(const SchemaFacets& facets) {
    const bool names_some = facets.lists_properties || !facets.required.empty();
    return (facets.kinds & Kinds::kObject) != 0 && names_some && !facets.values &&
           facets.min_properties <= facets.required.size() &&
           (!facets.max_properties || *facets.max_properties >= facets.properties.size());
  }

  void add_arguments(const SchemaFacets& facets) {
    for (const SchemaFacets::Property& property : facets.properties) {
      add_argument(property.key, property.schema, facets.required.contains(property.key));
    }
    for (const std::string& key : facets.required) {
      if (facets.find_property(key) != nullptr) continue;
      add_argument(key, facets.additional_properties.value_or(kAnything), true);
    }
  }

  void add_argument(const std::string& key, const JsonValue& schema, bool required) {
    const std::string path = fmt::format("{}.properties.{}", path_, key);
    std::optional<std::vector<ToolGrammar::Form>> forms =
        attempt([&] { return compile_forms(schema, path, required); });
    if (!forms) forms = compile_forms(kAnything, path, required);
    if (!forms->empty()) tool_.arguments.push_back({key, required, std::move(*forms)});
  }

  std::vector<ToolGrammar::Form> compile_forms(const JsonValue& schema, const std::string& path,
                                               bool required) {
    const JsonValue& root = signature_.parameters;
    const std::optional<SchemaFacets> facets = schema_facets({root, schema, path});
    std::vector<ToolGrammar::Form> forms;
    for (const Type& type : kTypes) {
      if (facets && (facets->kinds & type.kinds) == 0) continue;
      const JsonValue typed = of_type(schema, type.name);
      ByteGrammar grammar =
          compile_schema({root, typed, path}, JsonStyle::kSpaced,
                         type.name == "string" ? StringForm::kRaw : StringForm::kJson);
      if (!grammar.has_text(grammar.root())) continue;
      forms.push_back({type.name, std::make_unique<ValueGrammar>(std::move(grammar), tree_)});
    }
    if (forms.empty() && required) refuse_schema(path, "is required, but no value satisfies it");
    return forms;
  }

  void add_json(const JsonValue& schema) {
    std::optional<ByteGrammar> grammar = attempt([&] { return compile_object(schema); });
    if (!grammar) grammar = compile_object(kAnything);
    tool_.json = std::make_unique<ValueGrammar>(std::move(*grammar), tree_);
    GrammarMasks& masks = tool_.json->masks;
    tool_.json_required = !masks.advance(masks.start(), "{}").may_end();
  }

  ByteGrammar compile_object(const JsonValue& schema) {
    const JsonValue object = of_type(schema, "object");
    ByteGrammar grammar = compile_schema({signature_.parameters, object, path_});
    check_satisfiable(grammar, path_);
    return grammar;
  }

  const ToolSignature& signature_;
  const TokenTree& tree_;
  const std::string path_;
  ToolGrammar tool_;
};

}  // namespace

ToolGrammar compile_tool(const ToolSignature& signature, const TokenTree& tree) {
  return Compiler(signature, tree).compile();
}

}  // namespace sluice::text
