// Without this, text could be cut in other pieces than the model was trained with.
#include "text/pretokenizer.h"

#include "base/error.h"
#include "text/test_support.h"
#include "text/unicode_classes.h"

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using testing::ElementsAreArray;
using Pieces = std::vector<std::string>;

Pieces pieces_of(std::string_view text) {
  ScalarText scalars;
  read_scalars(text, scalars);
  Pieces pieces;
  for (size_t begin = 0; begin < scalars.classes.size();) {
    const size_t end = piece_end(scalars, begin);
    pieces.emplace_back(scalars.slice(begin, end));
    begin = end;
  }
  return pieces;
}

Pieces chunks_of(std::string_view text, const ChunkLimits& limits) {
  std::vector<std::string_view> chunks;
  split_chunks(text, limits, chunks);
  return {chunks.begin(), chunks.end()};
}

struct Case {
  std::string text;
  Pieces pieces;
};

TEST(Pieces, FollowThePattern) {
  const Case cases[] = {
      {"", {}},
      // Spaces: the last one before a word belongs to it.
      {"a    b", {"a", "   ", " b"}},
      {"0 7", {"0", " ", "7"}},
      {"a  ", {"a", "  "}},
      {"\n\n\n   a", {"\n\n\n", "  ", " a"}},
      {" \r\n ", {" \r\n", " "}},
      {"\n \n", {"\n \n"}},
      {"a\t\tb", {"a", "\t", "\tb"}},
      {"a\u00A0b", {"a", "\u00A0b"}},
      {"a\u3000\u3000 1", {"a", "\u3000\u3000", " ", "1"}},
      {"a\u2028b", {"a", "\u2028b"}},
      // U+001C and U+200B are punctuation here.
      {"\x1C"
       "a",
       {"\x1C"
        "a"}},
      {" \x1C a", {" \x1C", " a"}},
      {"\u200B\u200B", {"\u200B\u200B"}},
      // Words and their case.
      {"McDonald", {"Mc", "Donald"}},
      {"ABCd", {"ABCd"}},
      {"abCD", {"ab", "CD"}},
      {"HTTPServer2", {"HTTPServer", "2"}},
      {"!a!!b", {"!a", "!!", "b"}},
      {"_x", {"_x"}},
      {"e\u0301a", {"e\u0301a"}},
      // The prefix may be a mark, but U*L+ without a prefix comes before U+L* with one.
      {"\u0301AB", {"\u0301", "AB"}},
      // The upper run gives back its last caseless letter, and what follows is a piece of its own.
      {"\u00AA"
       "AB",
       {"\u00AA", "AB"}},
      {"A\u00AA"
       "B",
       {"A\u00AA", "B"}},
      {"\uD55C\uAD6D\uC5B4", {"\uD55C\uAD6D\uC5B4"}},
      {"\u01C5x", {"\u01C5x"}},
      // Contractions need a letter before them.
      {"DON'Tx", {"DON'T", "x"}},
      {"we're they'LL I'M", {"we're", " they'LL", " I'M"}},
      {"it'\u017F ok", {"it'\u017F", " ok"}},
      {"it\u2019s", {"it", "\u2019s"}},
      {"'s", {"'s"}},
      {"a'r", {"a", "'r"}},
      {"a'", {"a", "'"}},
      {"1's", {"1", "'s"}},
      // Numbers by three from the left.
      {"1234567", {"123", "456", "7"}},
      {"\u2160\u2460x", {"\u2160\u2460", "x"}},
      // Han runs absorb nothing; a Han number may end a number.
      {" \u4E2D\u6587a", {" ", "\u4E2D\u6587", "a"}},
      {"\u3005\u3007\u3006", {"\u3005\u3007", "\u3006"}},
      {"\u2F00\u2F01a", {"\u2F00\u2F01", "a"}},
      {"\u6F22\u0301a", {"\u6F22", "\u0301a"}},
      {"12\u3007", {"12\u3007"}},
      {"a\u4E2Db", {"a", "\u4E2D", "b"}},
      // Punctuation takes one space before and all newlines after.
      {"x = y;\r\n\n z", {"x", " =", " y", ";\r\n\n", " z"}},
      {"  !!", {" ", " !!"}},
      {"\u00A0!", {"\u00A0", "!"}},
      {"\U0001F469\u200D\U0001F4BB", {"\U0001F469\u200D\U0001F4BB"}},
  };
  for (const Case& c : cases) EXPECT_THAT(pieces_of(c.text), ElementsAreArray(c.pieces)) << c.text;
}

TEST(Pieces, JoinToTheTextWhateverItHolds) {
  constexpr uint64_t kSeed = 3;
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 500; ++round) {
    const std::string text = random_text(random, random() % 80);
    std::string joined;
    for (const std::string& piece : pieces_of(text)) joined += piece;
    EXPECT_EQ(joined, text) << "seed " << kSeed << " round " << round;
  }
}

TEST(Chunks, CutRunsOfOneClassAndSlices) {
  struct ChunkCase {
    std::string text;
    ChunkLimits limits;
    Pieces chunks;
  };
  const ChunkCase cases[] = {
      {"", {}, {}},
      {"abc defgh", {.run_scalars = 3}, {"abc def", "gh"}},
      {"    ", {.run_scalars = 3}, {"   ", " "}},
      {"abcdefgh", {.run_scalars = 8}, {"abcdefgh"}},
      {"abcdefghij", {.run_scalars = 4}, {"abcd", "efgh", "ij"}},
      {"a b c d", {.run_scalars = 1}, {"a b c d"}},
      {"\u6F22\u5B57\u6F22", {.run_scalars = 2}, {"\u6F22\u5B57", "\u6F22"}},
      // U+001C is a space to Python.
      {"a\x1C\x1C"
       "b",
       {.run_scalars = 1},
       {"a\x1C",
        "\x1C"
        "b"}},
      {"aaaaaaaaaa", {.slice_scalars = 6, .run_scalars = 4}, {"aaaa", "aa", "aaaa"}},
      {"aa   aa   aa", {.slice_scalars = 5, .run_scalars = 3}, {"aa   ", "aa   ", "aa"}},
      {"aaa aaa", {.slice_scalars = 2, .run_scalars = 9}, {"aa", "a ", "aa", "a"}},
  };
  for (const ChunkCase& c : cases) {
    EXPECT_THAT(chunks_of(c.text, c.limits), ElementsAreArray(c.chunks)) << c.text;
  }
}

TEST(Chunks, RefuseWhatIsNotUtf8AndSayWhere) {
  std::vector<std::string_view> chunks;
  try {
    split_chunks("\u00E9a\xC3(", {}, chunks);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
    EXPECT_STREQ(error.what(), "the text is not valid UTF-8 at byte 3");
  }
}

TEST(UnicodeClasses, KnowTheScalarsThatThePatternTurnsOn) {
  struct ClassCase {
    char32_t scalar;
    uint8_t bits;
  };
  constexpr ClassCase kCases[] = {
      {U'a', kLower | kLetter},
      {U'A', kUpper | kLetter},
      {U'0', kNumber},
      {U' ', kSpace},
      {U'\n', kSpace | kNewline},
      {0x0B, kSpace},
      {0x1C, 0},
      {0x85, kSpace},
      {0x200B, 0},
      {0xFEFF, 0},
      {0x0301, kUpper | kLower},            // Mn
      {0x01C5, kUpper | kLetter},           // Lt
      {0x02B0, kUpper | kLower | kLetter},  // Lm
      {0x05D0, kUpper | kLower | kLetter},  // Lo
      {0x4E00, kHan | kLetter},
      {0x3005, kHan | kLetter},
      {0x3006, kUpper | kLower | kLetter},  // Common, not Han
      {0x3007, kHan | kNumber},
      {0x2F00, kHan},
      {0x16FF0, kHan},  // a Han mark
      {0x2160, kNumber},
      {0x10FFFF, 0},
      {0xD800, 0},
      {0x10D40, kNumber},  // new in Unicode 16.0
      {0x323B0, 0},        // newer than that
  };
  for (const ClassCase& c : kCases) {
    EXPECT_EQ(unicode_classes().of(c.scalar), c.bits)
        << fmt::format("U+{:04X}", uint32_t{c.scalar});
  }
}

}  // namespace
}  // namespace sluice::text
