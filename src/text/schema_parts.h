#pragma once
#include "text/json_schema.h"

#include <vector>

namespace sluice::text {

/// A schema taken apart. It is one of these: a reference and nothing else, a choice, or facets.
struct SchemaParts {
  struct Choice {
    JsonValue schema;
    std::string path;
  };
  const JsonValue* reference = nullptr;          ///< Its target, in the root.
  std::optional<std::vector<Choice>> choices{};  ///< One of these, each complete in itself.
  SchemaFacets facets{};
  bool is_impossible = false;  ///< The schema false is among what is demanded.
};

/// Follows references and allOf, but a reference that stands alone, which may lead in circles.
/// Throws what compile_schema() throws.
[[nodiscard]] SchemaParts take_apart(const SchemaSource& source);

}  // namespace sluice::text
