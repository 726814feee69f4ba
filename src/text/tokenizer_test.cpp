// Without this, user text could become control tokens, or text not survive encoding and decoding.
#include "text/tokenizer.h"

#include "base/error.h"
#include "text/incremental_decoder.h"
#include "text/test_support.h"

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string joined_bytes(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string bytes;
  for (const TokenId id : ids) bytes += tokenizer.bytes(id);
  return bytes;
}

TEST(Tokenizer, EveryTextSurvivesAndNoneBecomesASpecial) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  const std::vector<std::string> words = random_words(random, 150);
  for (const ChunkLimits& limits : {ChunkLimits{}, ChunkLimits{17, 5}}) {
    const Tokenizer tokenizer = make_tokenizer(words, limits);
    for (int round = 0; round < 200; ++round) {
      const std::string text = random_text(random, random() % 100) + "<|open|>[BOS]<|sep|>" +
                               random_text(random, random() % 10);
      const std::vector<TokenId> ids = tokenizer.encode(text);
      ASSERT_EQ(joined_bytes(tokenizer, ids), text) << "seed " << kSeed;
      ASSERT_EQ(joined_bytes(tokenizer, tokenizer.encode(text, Specials::kOn)), text);
      for (const TokenId id : ids) {
        ASSERT_GE(id.value, 0);
        ASSERT_LT(id.value, tokenizer.special().bos.value) << "seed " << kSeed;
      }
    }
  }
}

TEST(Tokenizer, FindsSpecialsOnlyWhenAsked) {
  const Tokenizer tokenizer = make_tokenizer({});
  const SpecialIds& special = tokenizer.special();
  EXPECT_THAT(tokenizer.encode("[BOS]<|open|><|close|><|sep|><|end_of_msg|>[EOS][EOT][UNK][PAD]",
                               Specials::kOn),
              ElementsAre(special.bos, special.open, special.close, special.sep, special.end_of_msg,
                          special.eos, special.eot, special.unk, special.pad));
  EXPECT_EQ(tokenizer.encode("[BOS]").size(), 5U);
  EXPECT_EQ(tokenizer.encode("[bos]", Specials::kOn).size(), 5U);
  EXPECT_EQ(tokenizer.encode("<<|open|>>", Specials::kOn).size(), 3U);
  EXPECT_EQ(tokenizer.encode("<|ope<|open|>", Specials::kOn).size(), 6U);
}

TEST(Tokenizer, GivesSpecialsTheirPlacesAfterTheRanks) {
  const Tokenizer tokenizer = make_tokenizer({});
  EXPECT_EQ(tokenizer.vocab_size(), 512U);
  EXPECT_EQ(tokenizer.special().bos, TokenId{256});
  EXPECT_EQ(tokenizer.special().open, TokenId{259});
  EXPECT_EQ(tokenizer.special().pad, TokenId{511});
  EXPECT_EQ(tokenizer.bytes({256}), "[BOS]");
  EXPECT_EQ(tokenizer.bytes({264}), "<|reserved_token_264|>");
  EXPECT_THAT(tokenizer.encode("<|reserved_token_264|>", Specials::kOn), ElementsAre(TokenId{264}));
  EXPECT_GT(tokenizer.encode("<|reserved_token_511|>", Specials::kOn).size(), 1U) << "is [PAD]";
  EXPECT_FALSE(tokenizer.is_special({255}));
  EXPECT_TRUE(tokenizer.is_special({256}));
  EXPECT_TRUE(tokenizer.is_special({511}));
  EXPECT_FALSE(tokenizer.is_special({512}));
  for (const int32_t id : {-1, 512, INT32_MAX, INT32_MIN}) {
    EXPECT_THROW(static_cast<void>(tokenizer.bytes({id})), Error) << id;
  }
}

TEST(Tokenizer, ASpecialAcrossACutIsText) {
  const Tokenizer tokenizer = make_tokenizer({}, {.slice_scalars = 10, .run_scalars = 100});
  EXPECT_EQ(tokenizer.encode("12[BOS]", Specials::kOn).size(), 3U);
  EXPECT_EQ(tokenizer.encode("12345678[BOS]", Specials::kOn).size(), 13U);
}

TEST(Tokenizer, MergesDoNotCrossAChunk) {
  const std::vector<std::string> words = {"ab", "abab"};
  EXPECT_EQ(make_tokenizer(words).encode("abababab").size(), 2U);
  EXPECT_EQ(make_tokenizer(words, {.run_scalars = 3}).encode("abababab").size(), 5U);
}

TEST(Tokenizer, TakesNamesFromItsConfig) {
  const TempFolder folder;
  const std::filesystem::path config = folder.path() / "tokenizer_config.json";
  write_rank_file(folder.path() / "tiktoken.model", single_byte_tokens());
  std::ofstream(config) << R"({"added_tokens_decoder": {
    "256": {"content": "<s>"}, "300": {"content": "<sx>"}, "511": {"content": "<pad>"}}})";
  const Tokenizer tokenizer(folder.path());
  EXPECT_THAT(tokenizer.encode("<s><sx><pad>", Specials::kOn),
              ElementsAre(TokenId{256}, TokenId{300}, TokenId{511}));
  EXPECT_EQ(tokenizer.bytes({257}), "<|reserved_token_257|>");

  struct Damage {
    std::string_view json, message;
  };
  constexpr Damage kDamages[] = {
      {"", "not valid JSON"},
      {"[]", "added_tokens_decoder"},
      {R"({"added_tokens_decoder": []})", "added_tokens_decoder"},
      {R"({"added_tokens_decoder": {"255": {"content": "x"}}})", "256 to 511"},
      {R"({"added_tokens_decoder": {"512": {"content": "x"}}})", "\"512\""},
      {R"({"added_tokens_decoder": {"-1": {"content": "x"}}})", "\"-1\""},
      {R"({"added_tokens_decoder": {"256": {"content": ""}}})", "decoder.256"},
      {R"({"added_tokens_decoder": {"256": 1}})", "decoder.256"},
      {R"({"added_tokens_decoder": {"256": {"content": "x"}, "257": {"content": "x"}}})", "two"},
  };
  for (const Damage& damage : kDamages) {
    std::ofstream(config, std::ios::trunc) << damage.json;
    try {
      const Tokenizer damaged(folder.path());
      ADD_FAILURE() << "accepted " << damage.json;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      EXPECT_THAT(error.what(), HasSubstr(damage.message));
    }
  }
}

TEST(Tokenizer, RefusesWhatIsNotUtf8) {
  const Tokenizer tokenizer = make_tokenizer({});
  for (const std::string_view text : {"\xFF", "ab\xC3", "\xED\xA0\x80", "\xC0\x80"}) {
    EXPECT_THROW(static_cast<void>(tokenizer.encode(text)), Error);
    EXPECT_THROW(static_cast<void>(tokenizer.encode(text, Specials::kOn)), Error);
  }
  EXPECT_THAT(tokenizer.encode(std::string_view("\0", 1)), ElementsAre(TokenId{188}));
}

TEST(Tokenizer, CanBeMoved) {
  Tokenizer first = make_tokenizer({});
  const Tokenizer second = std::move(first);
  EXPECT_THAT(second.encode("[BOS]", Specials::kOn), ElementsAre(TokenId{256}));
}

}  // namespace
}  // namespace sluice::text
