// Any bytes as a JSON schema and, behind a zero byte, as choices: refused with a reason, or a
// grammar in which a text can always go on or end.
#include "base/check.h"
#include "base/error.h"
#include "text/grammar_walker.h"
#include "text/json_schema.h"
#include "text/json_value.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using namespace sluice::text;

constexpr size_t kSchemaMax = 2000, kBytesMax = 300;

// Follows bytes that the grammar allows, the next one from the choice on.
void walk(const ByteGrammar& grammar, std::string_view choices) {
  GrammarWalker walker(grammar);
  GrammarState state = walker.start();
  std::string text;
  for (const char choice : choices.substr(0, kBytesMax)) {
    const GrammarWalker::StateId id = walker.enter(state);
    auto byte = static_cast<uint8_t>(choice);
    int tries = 0;
    while (tries < 256 && walker.step(id, byte) == GrammarWalker::kDead) {
      ++tries;
      ++byte;
    }
    SLUICE_CHECK(tries < 256 || state.may_end());
    if (tries == 256) break;
    text += static_cast<char>(byte);
    state = walker.advance(state, text.substr(text.size() - 1));
  }
  SLUICE_CHECK(!state.is_dead());
  if (state.may_end()) SLUICE_CHECK(parse_json(text).value.has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), input.size());
  const JsonParse parsed = parse_json(input.substr(0, std::min(end, kSchemaMax)));
  if (!parsed.value) return 0;
  try {
    const ByteGrammar grammar = compile_schema({*parsed.value, *parsed.value, "schema"});
    check_satisfiable(grammar, "schema");
    walk(grammar, input.substr(std::min(end + 1, input.size())));
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(error.code() == sluice::ErrorCode::kInvalidInput);
    SLUICE_CHECK(std::string_view(error.what()).find("schema") != std::string_view::npos);
  }
  return 0;
}
