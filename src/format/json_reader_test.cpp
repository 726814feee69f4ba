// Headers and indexes come from downloads: text that is not JSON must be refused, or a damaged file
// would be read as a smaller, wrong one.
#include "format/json_reader.h"

#include "base/error.h"

#include <gtest/gtest.h>

namespace sluice::format {
namespace {

void read_all(std::string_view text) {
  const std::string path = "file";
  JsonReader reader(text, path);
  reader.skip();
  reader.finish();
}

TEST(JsonReader, AcceptsWhatIsJson) {
  for (const std::string_view text :
       {"{}", "[]", " {\"a\" : [1, -2.5e+3, 0.1E-2, true, false, null, \"x\"]}\r\n\t ", "0", "-0",
        "\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", "[[], {}, [{}], {\"a\":{}}]", "\"\x7f\""}) {
    EXPECT_NO_THROW(read_all(text)) << text;
  }
}

TEST(JsonReader, RefusesWhatIsNot) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      " "sv,
                                      "{"sv,
                                      "}"sv,
                                      "{\"a\"}"sv,
                                      "{\"a\":}"sv,
                                      "{\"a\":1,}"sv,
                                      "{,}"sv,
                                      "{1:2}"sv,
                                      "{\"a\":1 \"b\":2}"sv,
                                      "["sv,
                                      "[1,]"sv,
                                      "[,1]"sv,
                                      "[1 2]"sv,
                                      "[1}"sv,
                                      "{\"a\":1]"sv,
                                      "01"sv,
                                      "1."sv,
                                      ".5"sv,
                                      "+1"sv,
                                      "1e"sv,
                                      "--1"sv,
                                      "tru"sv,
                                      "nul"sv,
                                      "NaN"sv,
                                      "\"a"sv,
                                      "\"\\"sv,
                                      "\"\\x\""sv,
                                      "\"\\u12\""sv,
                                      "\"\\u12g4\""sv,
                                      "\"\\u+123\""sv,
                                      "\"\\ud800\""sv,
                                      "\"\\udc00\""sv,
                                      "\"\\ud800\\u0041\""sv,
                                      "\"\n\""sv,
                                      "\"\0\""sv,
                                      "{}\0"sv,
                                      "{}x"sv,
                                      "{} {}"sv,
                                      "\xef\xbb\xbf{}"sv,
                                      "\"\x80\""sv,
                                      "\"\xc0\xaf\""sv,
                                      "\"\xc3\""sv,
                                      "\"\xe0\x80\x80\""sv,
                                      "\"\xed\xa0\x80\""sv,
                                      "\"\xf4\x90\x80\x80\""sv,
                                      "\"\xf5\x80\x80\x80\""sv,
                                      "\"\xff\""sv,
                                      "/**/{}"sv}) {
    EXPECT_THROW(read_all(text), Error) << text;
  }
}

TEST(JsonReader, GivesValues) {
  const std::string path = "file";
  JsonReader reader(
      R"({"plain": "text", "\u0061\n": "\u20ac", "n": [18446744073709551615, 18446744073709551616,
          -1, 1.0, 7], "s": {"x": [[]]}})",
      path);
  EXPECT_EQ(reader.peek(), JsonReader::Kind::kObject);
  reader.enter_object();
  EXPECT_EQ(reader.next_member(), "plain");
  EXPECT_EQ(reader.string(), "text");
  EXPECT_EQ(reader.next_member(), "a\n");
  EXPECT_EQ(reader.string(), "\xe2\x82\xac");
  EXPECT_EQ(reader.next_member(), "n");
  reader.enter_array();
  for (const std::optional<uint64_t> want : std::initializer_list<std::optional<uint64_t>>{
           UINT64_MAX, std::nullopt, std::nullopt, std::nullopt, 7}) {
    EXPECT_TRUE(reader.next_element());
    EXPECT_EQ(reader.number(), want);
  }
  EXPECT_FALSE(reader.next_element());
  EXPECT_EQ(reader.next_member(), "s");
  reader.skip();
  EXPECT_EQ(reader.next_member(), std::nullopt);
  reader.finish();
}

TEST(JsonReader, DepthIsBounded) {
  const std::string ok(JsonReader::kDepthMax, '['), end(JsonReader::kDepthMax, ']');
  EXPECT_NO_THROW(read_all(ok + end));
  EXPECT_THROW(read_all("[" + ok + end + "]"), Error);
  EXPECT_THROW(read_all(std::string(1'000'000, '[')), Error);
  std::string objects;
  for (size_t i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THROW(read_all(objects), Error);
}

TEST(JsonReader, NamesPathAndByte) {
  const std::string path = "folder/file";
  JsonReader reader("[1, x]", path, 8);
  try {
    reader.skip();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_NE(std::string_view(error.what()).find("folder/file"), std::string_view::npos);
    EXPECT_NE(std::string_view(error.what()).find("byte 12"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace sluice::format
