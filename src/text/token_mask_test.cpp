// Without this, a mask could forbid a token that may come, or allow one after which nothing can.
#include "text/token_mask.h"

#include "text/json_schema.h"
#include "text/test_support.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::text {
namespace {

constexpr std::string_view kSchemas[] = {
    "true",
    R"({"type":"string","minLength":2,"maxLength":9})",
    R"({"type":"number","minimum":-12.5,"maximum":1000})",
    R"({"properties":{"a":{"type":"string"},"ab":{"items":{"enum":["x","xy","\"]"]}}},
        "additionalProperties":{"anyOf":[{"type":"null"},{"$ref":"#"}]}})",
    R"({"anyOf":[{"type":"string","pattern":"^(ab|b)+$"},{"type":"string","pattern":"a.?$"}]})",
};

// Single bytes, pieces of JSON and of characters, and words that begin alike.
Tokenizer make_json_tokenizer() {
  std::vector<std::string> words = {"{\"", "\":", "\",", "\"}", "\":\"", "ab",  "abb", "null", "[[",
                                    "]]}", "12",  "\\u", "\\n", "00",    "\"]", "x",   "xy\""};
  std::mt19937_64 random(3);
  for (const std::string& word : random_words(random, 200)) words.push_back(word);
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::erase_if(words, [](const std::string& word) { return word.size() == 1; });
  return make_tokenizer(words);
}

TEST(TokenMask, AllowsExactlyTheTokensThatCanFollow) {
  const Tokenizer tokenizer = make_json_tokenizer();
  const TokenTree tree(tokenizer);
  std::mt19937_64 random(5);
  for (const std::string_view text : kSchemas) {
    const JsonValue schema = parse_json(text).value.value();
    const ByteGrammar grammar = compile_schema({schema, schema, "schema"});
    GrammarMasks masks(grammar, tree);
    GrammarMasks single(grammar, tree);
    GrammarState state = masks.start();
    for (int step = 0; step < 60; ++step) {
      const TokenMask mask = masks.mask(state);
      std::vector<TokenId> allowed;
      for (TokenId id{0}; id.value < static_cast<int32_t>(tokenizer.vocab_size()); ++id.value) {
        const bool follows =
            !tokenizer.is_special(id) && !single.advance(state, tokenizer.bytes(id)).is_dead();
        ASSERT_EQ(mask.allows(id), follows) << text << " step " << step << " token " << id.value;
        if (follows) allowed.push_back(id);
      }
      ASSERT_TRUE(!allowed.empty() || state.may_end()) << text;
      if (allowed.empty() || (state.may_end() && step % 7 == 6)) {
        state = masks.start();
      } else {
        const TokenId id = allowed[random() % allowed.size()];
        state = masks.advance(state, tokenizer.bytes(id));
      }
    }
  }
}

TEST(TokenMask, IsTheSameWhenItIsMadeAnewAfterManyOthers) {
  const Tokenizer tokenizer = make_json_tokenizer();
  const TokenTree tree(tokenizer);
  const JsonValue schema = parse_json(R"({"type":"string","maxLength":2000})").value.value();
  const ByteGrammar grammar = compile_schema({schema, schema, "schema"});
  GrammarMasks masks(grammar, tree);
  const GrammarState start = masks.advance(masks.start(), "\"");
  const TokenMask before = masks.mask(start);
  GrammarState state = start;
  for (int i = 0; i < 600; ++i) {
    state = masks.advance(state, "a");
    ASSERT_TRUE(masks.mask(state).allows(tokenizer.encode("b").at(0)));
  }
  const TokenMask after = masks.mask(start);
  EXPECT_TRUE(std::ranges::equal(before.words(), after.words()));
}

}  // namespace
}  // namespace sluice::text
