// Without this, half a character could be streamed, or text depend on where tokens were cut.
#include "text/incremental_decoder.h"

#include "text/test_support.h"
#include "text/utf8.h"

#include <random>

#include <gtest/gtest.h>

namespace sluice::text {
namespace {

struct Case {
  std::string_view bytes, text;
};

// One U+FFFD per maximal ill-formed subpart, as in Unicode's table 3-8 and Python's
// errors="replace".
constexpr Case kCases[] = {
    {"", ""},
    {"abc", "abc"},
    {"\xC3\xA9", "\xC3\xA9"},
    {"\xE6\xBC\xA2\xF0\x9F\x99\x82", "\xE6\xBC\xA2\xF0\x9F\x99\x82"},
    {"a\x80z", "a\xEF\xBF\xBDz"},
    {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xE0\x80\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
    {"\xF0\x9F\x99z", "\xEF\xBF\xBDz"},
    {"\xE6\xBC\xE6\xBC\xA2", "\xEF\xBF\xBD\xE6\xBC\xA2"},
    {"\xF0\x9F\x99", "\xEF\xBF\xBD"},
    {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41",
     "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x41"},
    {"\xFF\xFE", "\xEF\xBF\xBD\xEF\xBF\xBD"},
};

TEST(IncrementalDecoder, TextDoesNotDependOnTheCuts) {
  for (const Case& c : kCases) {
    for (uint32_t cuts = 0; cuts < 1U << c.bytes.size(); ++cuts) {
      IncrementalDecoder decoder;
      std::string text;
      size_t begin = 0;
      for (size_t at = 0; at < c.bytes.size(); ++at) {
        if ((cuts >> at & 1) == 0) continue;
        text += decoder.push(c.bytes.substr(begin, at - begin));
        EXPECT_EQ(find_invalid_utf8(text), std::string::npos);
        begin = at;
      }
      text += decoder.push(c.bytes.substr(begin));
      text += decoder.finish();
      EXPECT_EQ(text, c.text) << "cuts " << cuts;
    }
  }
}

TEST(IncrementalDecoder, HoldsBackOnlyWhatMayBecomeACharacter) {
  IncrementalDecoder decoder;
  EXPECT_EQ(decoder.push("a\xF0\x9F\x99"), "a");
  EXPECT_EQ(decoder.push("\x82"
                         "b"),
            "\xF0\x9F\x99\x82"
            "b");
  EXPECT_EQ(decoder.push("\xE6\x41"), "\xEF\xBF\xBD\x41") << "can no longer become one";
  EXPECT_EQ(decoder.push("\xED"), "");
  EXPECT_EQ(decoder.push("\xA0"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "a surrogate never is one";
  EXPECT_EQ(decoder.finish(), "");
}

TEST(IncrementalDecoder, IsAsNewAfterFinish) {
  IncrementalDecoder decoder;
  EXPECT_EQ(decoder.push("\xF0\x9F"), "");
  EXPECT_EQ(decoder.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.push("\x82"), "\xEF\xBF\xBD") << "nothing of before is left";
}

TEST(Decode, GivesBackTheTextWhateverTheTokens) {
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  const Tokenizer tokenizer = make_tokenizer(random_words(random, 200));
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_text(random, random() % 60);
    EXPECT_EQ(decode(tokenizer, tokenizer.encode(text)), text) << "seed " << kSeed;
  }
}

TEST(Utf8, ReadsEveryScalarAndNothingElse) {
  for (char32_t scalar = 0; scalar <= 0x10FFFF; ++scalar) {
    std::string bytes;
    append_utf8(scalar, bytes);
    const Utf8Step step = first_scalar(bytes);
    if (scalar >= 0xD800 && scalar <= 0xDFFF) {
      ASSERT_EQ(step.kind, Utf8Step::Kind::kIllFormed);
      continue;
    }
    ASSERT_EQ(step.kind, Utf8Step::Kind::kScalar);
    ASSERT_EQ(step.length, bytes.size());
    ASSERT_EQ(step.scalar, scalar);
  }
}

}  // namespace
}  // namespace sluice::text
