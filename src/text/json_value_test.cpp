// Without this, a schema or an argument could be shown to the model in another spelling than in
// training.
#include "text/json_value.h"

#include <gtest/gtest.h>

namespace sluice::text {
namespace {

std::string spaced(std::string_view json) {
  const JsonParse parsed = parse_json(json);
  return parsed.value ? dump_json(*parsed.value, JsonStyle::kSpaced) : parsed.error;
}

TEST(Json, NumbersReadAsPythonPrintsThem) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"-0.0", "-0.0"},
      {"1.50", "1.5"},
      {"1E5", "100000.0"},
      {"1e3", "1000.0"},
      {"1e-7", "1e-07"},
      {"0.0001", "0.0001"},
      {"0.00012345", "0.00012345"},
      {"0.00001", "1e-05"},
      {"1.5e-9", "1.5e-09"},
      {"1e15", "1000000000000000.0"},
      {"1e16", "1e+16"},
      {"123456789012345680.0", "1.2345678901234568e+17"},
      {"9007199254740993.0", "9007199254740992.0"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"5e-324", "5e-324"},
      {"1e-400", "0.0"},
      {"-1e-400", "-0.0"},
      {"1e999", "Infinity"},
      {"-1e999", "-Infinity"},
      {"3.14159", "3.14159"},
      {"100.25", "100.25"},
      {"18446744073709551615", "18446744073709551615"},
      {"12345678901234567890123", "12345678901234567890123"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"-9223372036854775809", "-9223372036854775809"},
  };
  for (const auto& [source, expected] : kCases) EXPECT_EQ(spaced(source), expected);
  const std::string huge(400, '9');
  EXPECT_EQ(spaced(huge), huge);
}

TEST(Json, StringsEscapeOnlyWhatTheyMust) {
  EXPECT_EQ(spaced(R"("\u00e9\/\"\\\b\f\n\r\t\u0001\u001f\u007f\u2028\ud83d\ude42")"),
            "\"\u00E9/\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\u2028\U0001F642\"");
}

TEST(Json, KeepsTheOrderOfKeysUnlessSorted) {
  constexpr std::string_view kSource =
      R"( {"b": [1, {"z":null, "a":true}], "a": {}, "B": "", "é": [], "b": [{"y":0,"x":false}]} )";
  EXPECT_EQ(spaced(kSource), R"({"b": [{"y": 0, "x": false}], "a": {}, "B": "", "é": []})");
  JsonValue value = *parse_json(kSource).value;
  sort_keys(value);
  EXPECT_EQ(dump_json(value, JsonStyle::kCompact),
            R"({"B":"","a":{},"b":[{"x":false,"y":0}],"é":[]})");
}

TEST(Json, RefusesWhatIsNotJson) {
  const std::string deep(257, '[');
  for (const std::string_view text :
       {"", " ", "{", "[1,]", "{\"a\"}", "01", "1.", "NaN", "Infinity", "'a'", "\"\\ud800\"",
        "\"\xFF\"", "\"\n\"", "\xEF\xBB\xBF{}", "1 2", "{}x", "tru", "nul\0"}) {
    const JsonParse parsed = parse_json(text);
    EXPECT_FALSE(parsed.value) << text;
    EXPECT_NE(parsed.error, "") << text;
  }
  EXPECT_EQ(parse_json(deep + std::string(257, ']')).error, "JSON nested deeper than 256");
  EXPECT_TRUE(parse_json(deep.substr(1) + std::string(256, ']')).value);
  EXPECT_FALSE(parse_json(std::string(1'000'000, '[')).value);
  EXPECT_EQ(parse_json(std::string_view("1 \0 2", 5)).error, "not valid JSON near byte 3");
}

}  // namespace
}  // namespace sluice::text
