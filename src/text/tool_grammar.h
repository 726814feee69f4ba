#pragma once
#include "text/chat.h"
#include "text/json_schema.h"
#include "text/token_mask.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::text {

/// A language of values, and the tokens that spell them.
struct ValueGrammar {
  ValueGrammar(ByteGrammar compiled, const TokenTree& tree)
      : grammar(std::move(compiled)), masks(grammar, tree) {}
  ValueGrammar(const ValueGrammar&) = delete;
  ValueGrammar& operator=(const ValueGrammar&) = delete;

  const ByteGrammar grammar;
  GrammarMasks masks;
};

/// How calls of one tool are written: as arguments in any order, each at most once, or as one JSON
/// object.
struct ToolGrammar {
  /// A way to write an argument.
  struct Form {
    std::string_view type;  ///< The chat format's name: string, number, boolean, ...
    std::unique_ptr<ValueGrammar> value;
  };
  struct Argument {
    std::string key;
    bool required;
    std::vector<Form> forms;  ///< At least one.
  };

  std::string name;
  std::vector<Argument> arguments{};
  std::unique_ptr<ValueGrammar> json{};  ///< The object; null when there are `arguments`.
  bool json_required = false;            ///< A call without `json`, thus of {}, is wrong.
  /// What of the parameters does not restrict calls, since it is not supported and not strict.
  std::vector<std::string> ignored{};
};

/// Reads the parameters of a tool. Of one that is strict, throws Error(kInvalidInput) for what
/// compile_schema() refuses, or when no arguments satisfy them.
[[nodiscard]] ToolGrammar compile_tool(const ToolSignature& signature, const TokenTree& tree);

}  // namespace sluice::text
