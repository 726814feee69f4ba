#pragma once
#include "text/byte_grammar.h"
#include "text/char_set.h"
#include "text/json_value.h"
#include "text/schema_facets.h"

#include <optional>
#include <string>

namespace sluice::text {

/// What is to be compiled. What it points at must live during the call only.
struct SchemaSource {
  const JsonValue& root;    ///< What references in `schema` are looked up in.
  const JsonValue& schema;  ///< A schema of JSON Schema 2020-12.
  std::string path;         ///< What messages call `schema`.
};

/// The JSON texts of a schema's values, in one spelling: no spaces, or those of JsonStyle::kSpaced,
/// and properties in the schema's order. docs/structured-output.md has the keywords, and where the
/// language is narrower than the schema. With StringForm::kRaw it is that of the values that are
/// strings, written as they are. Every text can be completed from wherever it is. Throws
/// Error(kInvalidInput) that begins with the path of what is malformed or not supported.
[[nodiscard]] ByteGrammar compile_schema(const SchemaSource& source,
                                         JsonStyle style = JsonStyle::kCompact,
                                         StringForm strings = StringForm::kJson);

/// Throws Error(kInvalidInput) that begins with `path` when no text of a compiled grammar can end.
void check_satisfiable(const ByteGrammar& grammar, const std::string& path);

/// The demands of a schema that are no choice of alternatives, its references and allOf followed;
/// none where there is a choice. Throws what compile_schema() throws.
[[nodiscard]] std::optional<SchemaFacets> schema_facets(const SchemaSource& source);

}  // namespace sluice::text
