// Draws values under the token masks of schemas: schema_samples values|calls TOKENIZER_FOLDER COUNT
// SEED < SCHEMAS reads one schema a line and writes COUNT lines of JSON for each, values of the
// schema or the arguments of calls of a tool with these parameters, or one line "!" and the reason
// for a schema that is refused.
#include "base/error.h"
#include "text/chat.h"
#include "text/json_schema.h"
#include "text/json_value.h"
#include "text/output_parser.h"
#include "text/reply_grammar.h"
#include "text/token_mask.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace sluice;
using namespace sluice::text;

constexpr size_t kTokensMax = 5'000;

std::vector<TokenId> allowed(const TokenMask& mask) {
  std::vector<TokenId> ids;
  for (size_t word = 0; word < mask.words().size(); ++word) {
    for (uint64_t bits = mask.words()[word]; bits != 0; bits &= bits - 1) {
      ids.push_back(
          {static_cast<int32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)))});
    }
  }
  return ids;
}

// Whether a JSON text ends within a string.
bool in_string(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') inside = !inside;
    if (text[i] == '\\') ++i;
  }
  return inside;
}

// Any token that is allowed behind `text`, often one that ends something, and in a hurry a short
// one, so that texts end.
TokenId draw(const Tokenizer& tokenizer, std::string_view text, const std::vector<TokenId>& ids,
             bool hurry, std::mt19937_64& random) {
  const std::string_view enders = in_string(text) ? "\"" : "]}";
  std::vector<TokenId> ends, bytes;
  for (const TokenId id : ids) {
    const std::string_view token = tokenizer.bytes(id);
    if (token.size() != 1) continue;
    bytes.push_back(id);
    if (enders.find(token[0]) != std::string_view::npos) ends.push_back(id);
  }
  const std::vector<TokenId>* choice = hurry ? &bytes : &ids;
  if (!ends.empty() && random() % 100 < (hurry ? 98 : 25)) choice = &ends;
  return (*choice)[random() % choice->size()];
}

std::string sample(const Tokenizer& tokenizer, GrammarMasks& masks, std::mt19937_64& random) {
  std::string text;
  GrammarState state = masks.start();
  for (size_t count = 0; count < kTokensMax; ++count) {
    const std::vector<TokenId> ids = allowed(masks.mask(state));
    if (state.may_end() && (ids.empty() || random() % 3 == 0)) return text;
    if (ids.empty()) return text + " no token may follow";
    const TokenId id = draw(tokenizer, text, ids, count > 100, random);
    text += tokenizer.bytes(id);
    state = masks.advance(state, tokenizer.bytes(id));
  }
  return "?";
}

// The arguments of the call in a reply that must have one.
std::string sample_call(const Tokenizer& tokenizer, ReplyGrammar& grammar,
                        std::mt19937_64& random) {
  ReplyConstraint constraint(grammar, Channel::kContent);
  Reply reply;
  OutputParser parser(tokenizer.special(), Channel::kContent,
                      [&](const ReplyEvent& event) { reply.add(event); });
  std::string text;  // Since the last control token.
  for (size_t count = 0; count < kTokensMax && !constraint.finished(); ++count) {
    const std::vector<TokenId> ids = allowed(constraint.mask());
    if (ids.empty()) return "no token may follow";
    const bool hurry = count > 100;
    const TokenId close = tokenizer.special().close;
    const bool may_close = std::ranges::find(ids, close) != ids.end();
    const bool closes = may_close && random() % 100 < (hurry ? 98 : 25);
    const bool structure = ids.size() < 3;  // The format has little choice there.
    const TokenId id = closes      ? close
                       : structure ? ids[random() % ids.size()]
                                   : draw(tokenizer, text, ids, hurry, random);
    constraint.push(id);
    parser.push(id, tokenizer.bytes(id));
    text = tokenizer.is_special(id) ? "" : text + std::string(tokenizer.bytes(id));
  }
  if (!constraint.finished()) return "?";
  parser.finish();
  return reply.calls.size() == 1 ? reply.calls[0].arguments : "no call";
}

void sample_calls(const Tokenizer& tokenizer, const TokenTree& tree, const std::string& line,
                  int count, std::mt19937_64& random) {
  const ChatRequest request = parse_chat_request(fmt::format(
      R"({{"messages":[{{"role":"user","content":"x"}}],"reasoning_effort":"none",)"
      R"("tool_choice":"required","parallel_tool_calls":false,"tools":[{{"type":"function",)"
      R"("function":{{"name":"f","strict":true,"parameters":{}}}}}]}})",
      line));
  ReplyGrammar grammar(tokenizer, tree, request);
  for (int i = 0; i < count; ++i) fmt::print("{}\n", sample_call(tokenizer, grammar, random));
}

void sample_schema(const Tokenizer& tokenizer, const TokenTree& tree, const std::string& line,
                   int count, std::mt19937_64& random) {
  const JsonParse parsed = parse_json(line);
  if (!parsed.value) throw Error(ErrorCode::kInvalidInput, "{}: {}", line, parsed.error);
  const JsonStyle style = random() % 2 == 0 ? JsonStyle::kCompact : JsonStyle::kSpaced;
  const ByteGrammar grammar = compile_schema({*parsed.value, *parsed.value, "schema"}, style);
  check_satisfiable(grammar, "schema");
  GrammarMasks masks(grammar, tree);
  for (int i = 0; i < count; ++i) fmt::print("{}\n", sample(tokenizer, masks, random));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 5 ? argv[1] : "";
  if (what != "values" && what != "calls") {
    std::fputs("usage: schema_samples values|calls TOKENIZER_FOLDER COUNT SEED < SCHEMAS\n",
               stderr);
    return 2;
  }
  const Tokenizer tokenizer{std::filesystem::path(argv[2])};
  const TokenTree tree(tokenizer);
  std::mt19937_64 random(std::stoull(argv[4]));
  const auto sample = what == "calls" ? sample_calls : sample_schema;
  for (std::string line; std::getline(std::cin, line);) {
    try {
      sample(tokenizer, tree, line, std::stoi(argv[3]), random);
    } catch (const Error& error) {
      fmt::print("!{}\n", error.what());
    }
  }
  return 0;
}
