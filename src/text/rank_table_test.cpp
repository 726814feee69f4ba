// Without this, pieces could merge in another order than by rank, or a damaged vocabulary be
// loaded.
#include "text/rank_table.h"

#include "base/error.h"
#include "text/test_support.h"

#include <fstream>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using testing::HasSubstr;

RankTable table_of(std::span<const std::string> tokens) {
  const TempFolder folder;
  write_rank_file(folder.path() / "ranks", tokens);
  return RankTable(folder.path() / "ranks");
}

// Byte pair encoding as the rule is worded: again and again the adjacent pair of lowest rank, the
// leftmost.
std::vector<std::string> plain_encode(const RankTable& ranks, std::string_view piece) {
  if (ranks.find(piece) != RankTable::kNone) return {std::string(piece)};
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    uint32_t best = RankTable::kNone;
    size_t best_at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const uint32_t rank = ranks.find(parts[i] + parts[i + 1]);
      if (rank < best) {
        best = rank;
        best_at = i;
      }
    }
    if (best == RankTable::kNone) return parts;
    parts[best_at] += parts[best_at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

TEST(RankTable, MergesByRankAndLeftmostFirst) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> tokens = single_byte_tokens();
    const std::vector<std::string> words = random_words(random, 30 + random() % 100);
    tokens.insert(tokens.end(), words.begin(), words.end());
    const RankTable ranks = table_of(tokens);
    RankTable::Scratch scratch;
    for (int k = 0; k < 100; ++k) {
      std::string piece;
      for (size_t n = 1 + random() % 40; n > 0; --n) piece += words[random() % words.size()][0];
      std::vector<TokenId> ids;
      ranks.encode_piece(piece, scratch, ids);
      std::vector<std::string> parts;
      for (const TokenId id : ids) parts.emplace_back(ranks.bytes(static_cast<uint32_t>(id.value)));
      ASSERT_EQ(parts, plain_encode(ranks, piece)) << "seed " << kSeed << " round " << round;
    }
  }
}

TEST(RankTable, LongPiecesOfOneKindMergeToTheLongestTokens) {
  std::vector<std::string> tokens = single_byte_tokens();
  for (size_t length = 2; length <= 64; length *= 2) tokens.emplace_back(length, 'a');
  const RankTable ranks = table_of(tokens);
  RankTable::Scratch scratch;
  std::vector<TokenId> ids;
  // Quadratic work on this would be 10^11 steps.
  ranks.encode_piece(std::string(320'001, 'a'), scratch, ids);
  ASSERT_EQ(ids.size(), 5001U);
  EXPECT_EQ(ranks.bytes(static_cast<uint32_t>(ids[0].value)).size(), 64U);
  EXPECT_EQ(ranks.bytes(static_cast<uint32_t>(ids.back().value)), "a");
}

TEST(RankTable, RefusesDamagedFilesAndNamesTheLine) {
  const TempFolder folder;
  const std::filesystem::path file = folder.path() / "tiktoken.model";
  write_rank_file(file, single_byte_tokens());
  std::ifstream good_file(file);
  const std::string good{std::istreambuf_iterator<char>(good_file), {}};
  struct Damage {
    std::string text, message;
  };
  const Damage damages[] = {
      {"", "no token for the single byte 0x00"},
      {good.substr(0, good.rfind("rQ==")), "no token for the single byte 0xad"},
      {good + "YWI= 257\n", "line 257: expected rank 256, found \"257\""},
      {good + "YWI= 255\n", "line 257: expected rank 256"},
      {good + "YWI= 256x\n", "line 257: expected rank 256"},
      {good + "YWI= -1\n", "line 257: expected rank 256"},
      {good + "YWI=\n", "line 257: expected base64, a space and a rank"},
      {good + "YWI 256\n", "line 257: expected base64"},
      {good + "Y*I= 256\n", "line 257: expected base64"},
      {good + "Y=I= 256\n", "line 257: expected base64"},
      {good + "YWJ= 256\n", "line 257: expected base64"},
      {good + "==== 256\n", "line 257: expected base64"},
      {good + " 256\n", "line 257: expected base64"},
      {good + "\n", "line 257: expected base64"},
      {good + "YQ== 256\n", "line 257: the token of rank 64 once more"},
      {good + std::string(1000, '\0'), "line 257: expected base64"},
  };
  for (const Damage& damage : damages) {
    std::ofstream(file, std::ios::trunc) << damage.text;
    try {
      const RankTable ranks(file);
      ADD_FAILURE() << "accepted: " << damage.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      EXPECT_THAT(error.what(), HasSubstr(damage.message));
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
    }
  }
  std::ofstream(file, std::ios::trunc) << good + "YWI= 256";
  EXPECT_EQ(RankTable(file).size(), 257U) << "the last newline may be missing";
}

TEST(RankTable, SaysThatTheFileIsMissing) {
  const TempFolder folder;
  try {
    const RankTable ranks(folder.path() / "tiktoken.model");
    FAIL() << "loaded nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_THAT(error.what(), HasSubstr("tiktoken.model"));
  }
}

TEST(SyntheticRanks, AreValidReachableAndOfTheSizeAsked) {
  for (const uint32_t vocab_size : {512U, 513U, 700U, 1024U, 20'000U}) {
    const TempFolder folder;
    write_synthetic_rank_file(folder.path() / "tiktoken.model", vocab_size);
    const Tokenizer tokenizer(folder.path());
    EXPECT_EQ(tokenizer.vocab_size(), vocab_size);
    const RankTable ranks(folder.path() / "tiktoken.model");
    for (uint32_t rank = 256; rank < ranks.size(); ++rank) {
      const std::string_view word = ranks.bytes(rank);
      ASSERT_LT(ranks.find(word.substr(0, word.size() - 1)), rank);
      ASSERT_LT(ranks.find(word.substr(word.size() - 1)), rank);
    }
  }
  EXPECT_THROW(write_synthetic_rank_file("unused", 511), Error);
  EXPECT_THROW(write_synthetic_rank_file("/nowhere/at/all", 512), Error);
}

TEST(SyntheticRanks, BeginInTheOrderOfTheReleasedVocabulary) {
  const std::vector<std::string> tokens = single_byte_tokens();
  ASSERT_EQ(tokens.size(), 256U);
  constexpr std::pair<size_t, unsigned char> kPlaces[] = {
      {0, '!'}, {93, '~'}, {94, 0xA1}, {188, 0}, {198, '\n'}, {201, '\r'}, {220, ' '}, {221, 0x7F}};
  for (const auto& [rank, byte] : kPlaces) {
    EXPECT_EQ(static_cast<unsigned char>(tokens[rank][0]), byte);
  }
}

}  // namespace
}  // namespace sluice::text
