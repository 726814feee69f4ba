// Without this, a reply could break the schema that it was asked to keep, or a keyword be ignored.
#include "text/json_schema.h"

#include "base/error.h"
#include "text/grammar_walker.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

using testing::StartsWith;

JsonValue json(std::string_view text) {
  JsonParse parsed = parse_json(text);
  EXPECT_TRUE(parsed.value) << text << ": " << parsed.error;
  return parsed.value.value_or(JsonValue{});
}

ByteGrammar compile(std::string_view schema, JsonStyle style = JsonStyle::kCompact,
                    StringForm form = StringForm::kJson) {
  const JsonValue value = json(schema);
  return compile_schema({value, value, "schema"}, style, form);
}

bool accepts(const ByteGrammar& grammar, std::string_view text) {
  GrammarWalker walker(grammar);
  return walker.advance(walker.start(), text).may_end();
}

std::string refusal(std::string_view schema) {
  try {
    const ByteGrammar grammar = compile(schema);
    check_satisfiable(grammar, "schema");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
    return error.what();
  }
  return "nothing";
}

struct Case {
  std::string_view schema;
  std::vector<std::string_view> good, bad;
};

void check(const Case& one, JsonStyle style = JsonStyle::kCompact,
           StringForm form = StringForm::kJson) {
  const ByteGrammar grammar = compile(one.schema, style, form);
  for (const std::string_view text : one.good) {
    EXPECT_TRUE(accepts(grammar, text)) << one.schema << " does not accept " << text;
  }
  for (const std::string_view text : one.bad) {
    EXPECT_FALSE(accepts(grammar, text)) << one.schema << " accepts " << text;
  }
}

TEST(JsonSchema, Types) {
  const Case kCases[] = {
      {"true",
       {"null", "true", "-1.5", R"("x")", R"([1,[],{}])", R"({"a":{"b":[null]},"":0})"},
       {"", "nul", "nulll", "[1,]", "[1, 2]", R"({"a" :1})", "01", "+1", "{1:2}", " 1", "NaN"}},
      {R"({"type":"null"})", {"null"}, {"true", "0"}},
      {R"({"type":"boolean"})", {"true", "false"}, {"null", "True", R"("true")"}},
      {R"({"type":["integer","null"]})", {"7", "null", "-12"}, {"7.5", R"("7")"}},
      {R"({"type":"string","nullable":true})", {R"("a")", "null"}, {"1"}},
      {R"({"type":"object"})", {"{}", R"({"a":1})"}, {"[]", "null"}},
      {R"({"type":"array"})", {"[]", R"([1,"a"])"}, {"{}"}},
      {R"({"enum":["a",1,null,{"b":[1,2]}]})",
       {R"("a")", "1", "null", R"({"b":[1,2]})"},
       {R"("b")", "2", R"({"b":[1, 2]})"}},
      {R"({"type":"string","enum":["a","ab",3]})", {R"("a")", R"("ab")"}, {"3", R"("abc")"}},
      {R"({"const":"x\"y\n"})", {R"("x\"y\n")"}, {R"("x")"}},
      {R"({"type":"integer","const":5})", {"5"}, {"6"}},
  };
  for (const Case& one : kCases) check(one);
}

TEST(JsonSchema, Numbers) {
  const Case kCases[] = {
      {R"({"type":"integer"})",
       {"0", "-1", "12345678901234567890"},
       {"-0", "00", "1.0", "1e3", "123456789012345678901"}},
      {R"({"type":"number"})",
       {"0", "-1.25", "1e5", "2.5E-10", "0.00"},
       {".5", "1.", "1e", "1e100", "--1"}},
      {R"({"type":"integer","minimum":3,"maximum":105})",
       {"3", "9", "10", "99", "100", "105"},
       {"2", "106", "110", "1000", "-5", "03"}},
      {R"({"type":"integer","minimum":-20,"maximum":-3})",
       {"-3", "-20", "-9", "-10"},
       {"-2", "-21", "0", "3", "-100"}},
      {R"({"type":"integer","minimum":-5,"exclusiveMaximum":5})",
       {"-5", "-1", "0", "4"},
       {"5", "-6", "-0"}},
      {R"({"type":"integer","exclusiveMinimum":0})", {"1", "10", "99999"}, {"0", "-1"}},
      {R"({"type":"integer","minimum":1.5,"maximum":3.5})", {"2", "3"}, {"1", "4"}},
      {R"({"type":"integer","maximum":-1})", {"-1", "-99"}, {"0", "1"}},
      {R"({"type":"integer","minimum":1,"maximum":60,"multipleOf":15})",
       {"15", "30", "60"},
       {"0", "1", "45.0", "75", "20"}},
      {R"({"type":"number","multipleOf":5})", {"0", "-15", "1000"}, {"1", "5.0", "51"}},
      {R"({"type":"number","minimum":0,"maximum":1})",
       {"0", "1", "0.5", "1.00", "0.999"},
       {"1.01", "-0.1", "2", "1e0"}},
      {R"({"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1})",
       {"0.01", "0.99"},
       {"0", "1", "0.0", "1.0", "0.00"}},
      {R"({"type":"number","minimum":-1.25,"maximum":12.5})",
       {"-1.25", "-1.2", "0", "12.5", "12.49", "9.99", "12"},
       {"-1.26", "-2", "12.51", "13"}},
      {R"({"type":"number","exclusiveMinimum":2.5})",
       {"2.51", "2.500001", "3", "100.5"},
       {"2.5", "2.50", "2", "1"}},
      {R"({"type":"number","maximum":-0.5})", {"-0.5", "-0.51", "-10"}, {"-0.4", "0", "0.5"}},
  };
  for (const Case& one : kCases) check(one);
}

// Every integer from -300 to 300 against every pair of bounds of a few.
TEST(JsonSchema, RangesOfIntegersAreExact) {
  for (const int low : {-273, -100, -99, -10, -1, 0, 1, 7, 10, 99, 100, 115}) {
    for (const int high : {-150, -100, -9, 0, 3, 10, 19, 100, 101, 250}) {
      for (const int multiple : {1, 7}) {
        if (high < low) continue;
        const ByteGrammar grammar =
            compile(fmt::format(R"({{"type":"integer","minimum":{},"maximum":{},"multipleOf":{}}})",
                                low, high, multiple));
        GrammarWalker walker(grammar);
        const GrammarState start = walker.start();
        for (int value = -300; value <= 300; ++value) {
          EXPECT_EQ(walker.advance(start, std::to_string(value)).may_end(),
                    value >= low && value <= high && value % multiple == 0)
              << value << " in " << low << ".." << high << " multiple of " << multiple;
        }
      }
    }
  }
}

TEST(JsonSchema, Strings) {
  const Case kCases[] = {
      {R"({"type":"string"})",
       {R"("")", R"("a b")", R"("\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00")",
        "\"\xC3\xA9\xF0\x9F\x99\x82\""},
       {R"("a)", "\"\n\"", R"("\x")", R"("\uD83D")", R"("\uD83Dx")", R"("\uDE00")", R"("\u12")",
        "\"\xC3\"", "\"\xED\xA0\x80\"", "\"\xC0\x80\"", "\"\xF4\x90\x80\x80\"", "'a'"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("abc")", "\"\xC3\xA9\xF0\x9F\x99\x82\"", R"("\n\uD83D\uDE00")"},
       {R"("a")", R"("abcd")", R"("")"}},
      {R"({"type":"string","minLength":2})", {R"("ab")", R"("abcdefgh")"}, {R"("a")"}},
      {R"({"type":"string","maxLength":0})", {R"("")"}, {R"("a")"}},
      {R"({"type":"string","pattern":"^[a-c]+[0-9]{2,3}$"})",
       {R"("a12")", R"("abc123")"},
       {R"("12")", R"("a1")", R"("a1234")", R"("xa12")"}},
      {R"({"type":"string","pattern":"b.d"})",
       {R"("abcde")", R"("b\"d")",
        "\"b\xC3\xA9"
        "d\""},
       {R"("bd")", R"("b\nd")", R"("ab")"}},
      {R"({"type":"string","pattern":"^a|b$"})", {R"("ax")", R"("xb")", R"("a")"}, {R"("xa")"}},
      {R"({"type":"string","pattern":"^(?:x|yy)*?z?$"})", {R"("")", R"("xyyz")"}, {R"("y")"}},
      {R"({"type":"string","pattern":"^[^\\d\\s\"]\\w\\.\\\\\\x41\\u0042[\\]^-]$"})",
       {R"("-_.\\AB]")", R"("xy.\\AB-")", R"("xy.\\AB^")"},
       {R"("1y.\\AB]")", R"("\"y.\\AB]")"}},
      {R"({"type":"string","pattern":"^a*$","minLength":2,"maxLength":4})",
       {R"("aa")", R"("aaaa")"},
       {R"("a")", R"("aaaaa")", R"("ab")"}},
      {R"({"type":"string","pattern":"^(ab)+$","minLength":3})", {R"("abab")"}, {R"("ab")"}},
      {R"({"type":"string","pattern":"^{a}{2}$"})", {R"("{a}}")"}, {R"("{a}")"}},
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("1999-12-31")", R"("2000-01-01")"},
       {R"("2023-02-29")", R"("2024-04-31")", R"("2024-13-01")", R"("24-01-01")"}},
      {R"({"type":"string","format":"date-time"})",
       {R"("2024-02-29T23:59:59Z")", R"("2024-01-01T00:00:00.125+02:00")"},
       {R"("2024-01-01")", R"("2024-01-01T24:00:00Z")", R"("2024-01-01T00:00:00")"}},
      {R"({"type":"string","format":"uuid"})",
       {R"("123e4567-e89b-12d3-a456-426614174000")"},
       {R"("123e4567")"}},
      {R"({"type":"string","format":"email"})",
       {R"("a.b+c@d-e.example.com")"},
       {R"("a@b")", R"("@x.com")", R"("a b@x.com")"}},
      {R"({"type":"string","format":"ipv4"})", {R"("255.0.10.1")"}, {R"("256.0.0.1")"}},
      {R"({"type":"string","format":"something new"})", {R"("anything")"}, {"1"}},
  };
  for (const Case& one : kCases) check(one);
}

TEST(JsonSchema, Arrays) {
  const Case kCases[] = {
      {R"({"items":{"type":"integer"}})", {"[]", "[1]", "[1,2,3]"}, {"[1,]", R"(["a"])", "1"}},
      {R"({"type":"array","items":{"type":"null"},"minItems":2,"maxItems":3})",
       {"[null,null]", "[null,null,null]"},
       {"[]", "[null]", "[null,null,null,null]"}},
      {R"({"type":"array","items":{"type":"null"},"minItems":1})",
       {"[null]", "[null,null]"},
       {"[]"}},
      {R"({"type":"array","maxItems":0})", {"[]"}, {"[1]"}},
      {R"({"prefixItems":[{"type":"integer"},{"type":"string"}]})",
       {"[]", "[1]", R"([1,"a"])"},
       {R"(["a"])", R"([1,"a",2])"}},
      {R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":1})",
       {"[1]", "[1,null,null]"},
       {"[]", "[null]", "[1,1]"}},
      {R"({"prefixItems":[{"type":"integer"}],"minItems":3})", {"[1,2,{}]"}, {"[1,2]"}},
      {R"({"type":"array","items":false})", {"[]"}, {"[1]"}},
  };
  for (const Case& one : kCases) check(one);
}

TEST(JsonSchema, Objects) {
  const Case kCases[] = {
      {R"({"properties":{"b":{"type":"integer"},"a":{"type":"null"},"c":true},"required":["a"]})",
       {R"({"a":null})", R"({"b":1,"a":null})", R"({"b":1,"a":null,"c":[]})",
        R"({"a":null,"c":1})"},
       {"{}", R"({"a":null,"b":1})", R"({"b":1})", R"({"a":null,})", R"({"a":null,"d":1})",
        R"({"a":null,"a":null})"}},
      {R"({"type":"object","properties":{}})", {"{}"}, {R"({"a":1})"}},
      {R"({"type":"object","properties":{"é\"":{"const":1}}})",
       {R"({"é\"":1})", "{}"},
       {R"({"é":1})"}},
      {R"({"properties":{"a":{"const":1},"ab":{"const":2}},
           "additionalProperties":{"type":"null"}})",
       {"{}", R"({"a":1,"ab":2,"x":null})", R"({"abc":null,"":null})", R"({"b":null})",
        R"({"aa":null})"},
       {R"({"a":null})", R"({"x":1})", R"({"x":null,"a":1})", R"({"x":null,"ab":null})",
        R"({"\u0061":null})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})",
       {R"({"x":1,"y":2})"},
       {R"({"x":"1"})"}},
      {R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"x":1})"}},
      {R"({"type":"object","required":["a"]})", {R"({"a":1})", R"({"a":1,"b":2})"}, {"{}"}},
      {R"({"properties":{"a":false,"b":{"const":1}}})", {R"({"b":1})"}, {R"({"a":1})"}},
      {R"({"type":"object","properties":{"a":true},"required":["a"],"minProperties":1,
           "maxProperties":2})",
       {R"({"a":1})"},
       {"{}"}},
  };
  for (const Case& one : kCases) check(one);
}

TEST(JsonSchema, Combinations) {
  const Case kCases[] = {
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"1", R"("a")"},
       {R"("ab")", "null"}},
      {R"({"oneOf":[{"properties":{"k":{"const":"a"},"x":{"type":"integer"}},"required":["k","x"]},
                    {"properties":{"k":{"const":"b"}},"required":["k"]}]})",
       {R"({"k":"a","x":1})", R"({"k":"b"})"},
       {R"({"k":"a"})", R"({"k":"b","x":1})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
           "anyOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
       {"{}"}},
      {R"({"anyOf":[{"minimum":5},{"maximum":-5}],"type":"integer","allOf":[{"multipleOf":2}]})",
       {"6", "-8"},
       {"5", "0", "-4"}},
      {R"({"allOf":[{"anyOf":[{"type":"integer"},{"type":"string"}]},
                    {"anyOf":[{"type":"string"},{"type":"null"}]}]})",
       {R"("a")"},
       {"1", "null"}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},
                    {"properties":{"a":{"minimum":3},"b":{"type":"null"}}}]})",
       {R"({"a":3})", R"({"a":3,"b":null})"},
       {R"({"a":2})", "{}"}},
      {R"({"allOf":[{"properties":{"a":{"type":"integer"}},"additionalProperties":false},
                    {"properties":{"b":true}}]})",
       {"{}", R"({"a":1})"},
       {R"({"b":1})", R"({"a":1,"b":1})"}},
      {R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]},{"const":3}]})", {"3"}, {"2", "4"}},
      {R"({"allOf":[{"items":{"type":"integer"}},{"items":{"minimum":2}},true]})",
       {"[2,3]"},
       {"[1]"}},
  };
  for (const Case& one : kCases) check(one);
}

TEST(JsonSchema, References) {
  const Case kCases[] = {
      {R"({"$ref":"#/$defs/p","$defs":{"p":{"type":"integer"}}})", {"1"}, {"null"}},
      {R"({"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"integer"}}})", {"1"}, {"null"}},
      {R"({"$ref":"#/$defs/p","minimum":5,"$defs":{"p":{"type":"integer"}}})", {"5"}, {"4"}},
      {R"({"properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},
           "required":["v","next"]})",
       {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
       {R"({"v":1})"}},
      {R"({"properties":{"child":{"$ref":"#"}}})", {"{}", R"({"child":{"child":{}}})"}, {"null"}},
      {R"({"$ref":"#/definitions/even","definitions":{
            "even":{"anyOf":[{"type":"null"},
                             {"prefixItems":[{"$ref":"#/definitions/odd"}],"minItems":1}]},
            "odd":{"prefixItems":[{"$ref":"#/definitions/even"}],"minItems":1}}})",
       {"null", "[[null]]", "[[[[null]]]]"},
       {"[null]", "[]"}},
      {R"({"anyOf":[{"$ref":"#"},{"type":"string"}]})", {R"("a")"}, {"1"}},
      {R"({"allOf":[{"$ref":"#/$defs/b"},{"properties":{"x":{"$ref":"#"}}}],
           "$defs":{"b":{"properties":{"n":{"type":"integer"}},"required":["n"]}}})",
       {R"({"n":1})", R"({"n":1,"x":{"n":2,"x":{"n":3}}})"},
       {R"({"x":{"n":1}})"}},
      {R"({"prefixItems":[{"$ref":"#/$defs/l/prefixItems/0"}],
           "$defs":{"l":{"prefixItems":[{"const":1}]}}})",
       {"[1]"},
       {"[2]"}},
  };
  for (const Case& one : kCases) check(one);
}

TEST(JsonSchema, SpacedStyleHasPythonsSpaces) {
  check({R"({"properties":{"a":{"items":{"type":"integer"}},"b":true,"c":{"const":{"x":[1,2]}}}})",
         {R"({"a": [1, 2], "b": {"k": [{}, []]}, "c": {"x": [1, 2]}})"},
         {R"({"a":[1,2]})", R"({"a": [1,2]})"}},
        JsonStyle::kSpaced);
}

TEST(JsonSchema, RawStringsHaveNoQuotesAndNoEscapes) {
  const Case kCases[] = {
      {R"({"type":"string"})", {"", "a \"b\"\n\\", "\xC3\xA9"}, {"\xC3", "\xFF"}},
      {R"({"type":["string","integer"],"maxLength":2})", {"", "\"\\", "\xC3\xA9\n"}, {"123"}},
      {R"({"enum":["a\"b",1,"c"]})", {"a\"b", "c"}, {"1", "a\\\"b"}},
      {R"({"type":"string","pattern":"^\\\\n$"})", {"\\n"}, {"\n", "\\\\n"}},
  };
  for (const Case& one : kCases) check(one, JsonStyle::kCompact, StringForm::kRaw);
}

// What an arbitrary walk along the cheapest bytes could run into is a state without a way on.
TEST(JsonSchema, NestingEndsBeforeParsersGiveUp) {
  for (const std::string_view schema : {"true", R"({"items":{"$ref":"#"}})"}) {
    const ByteGrammar grammar = compile(schema);
    GrammarWalker walker(grammar);
    GrammarState state = walker.start();
    std::string text;
    for (; text.size() < 1000; text += '[') {
      GrammarState next = walker.advance(state, "[");
      if (next.is_dead()) break;
      state = std::move(next);
    }
    EXPECT_GT(text.size(), 90u) << schema;
    EXPECT_LT(text.size(), 128u) << schema;
    state = walker.advance(state, std::string(text.size(), ']'));
    EXPECT_TRUE(state.may_end()) << schema;
  }
}

TEST(JsonSchema, RefusesWhatItDoesNotSupport) {
  struct Refused {
    std::string_view schema, message;
  };
  constexpr Refused kCases[] = {
      {"1", "schema: must be a schema"},
      {R"({"properties":{"a":{"type":"text"}}})",
       "schema.properties.a.type: must be null, boolean"},
      {R"({"properties":{"a":{"not":{}}}})", "schema.properties.a.not: is not supported"},
      {R"({"items":{"patternProperties":{}}})", "schema.items.patternProperties: is not supported"},
      {R"({"uniqueItems":true})", "schema.uniqueItems: is not supported"},
      {R"({"if":true})", "schema.if: is not supported"},
      {R"({"contains":true})", "schema.contains: is not supported"},
      {R"({"unevaluatedProperties":false})", "schema.unevaluatedProperties: is not supported"},
      {R"({"dependentRequired":{}})", "schema.dependentRequired: is not supported"},
      {R"({"propertyNames":{}})", "schema.propertyNames: is not supported"},
      {R"({"items":[true]})", "schema.items: a list of schemas is not supported; use prefixItems"},
      {R"({"type":"object","minProperties":1})", "schema.minProperties: "},
      {R"({"type":"object","maxProperties":1})", "schema.maxProperties: "},
      {R"({"multipleOf":0.1})", "schema.multipleOf: must be an integer from 1 to 1000"},
      {R"({"multipleOf":0})", "schema.multipleOf: "},
      {R"({"minimum":"1"})", "schema.minimum: must be a number"},
      {R"({"minimum":1,"exclusiveMinimum":true})", "schema.exclusiveMinimum: must be a number"},
      {R"({"maximum":1e300})", "schema.maximum: has more than 40 digits"},
      {R"({"minLength":-1})", "schema.minLength: must not be negative"},
      {R"({"maxLength":60000})", "schema.maxLength: more than 50000 is not supported"},
      {R"({"enum":1})", "schema.enum: must be an array"},
      {R"({"enum":["a"],"minLength":1})", "schema: enum or const beside other keywords"},
      {R"({"enum":[1e999]})", "schema: a number with more than 40 digits"},
      {R"({"required":[1]})", "schema.required: must be an array of strings"},
      {R"({"properties":[]})", "schema.properties: must be an object"},
      {R"({"properties":{"a":1}})", "schema.properties.a: must be a schema"},
      {R"({"anyOf":[]})", "schema.anyOf: must be an array of at least one schema"},
      {R"({"allOf":{}})", "schema.allOf: must be an array of at least one schema"},
      {R"({"allOf":[true,{"if":true}]})", "schema.allOf[1].if: is not supported"},
      {R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})",
       "schema.allOf[1].pattern: a second pattern"},
      {R"({"pattern":"a","format":"date"})", "schema: a pattern and a format"},
      {R"({"allOf":[{"prefixItems":[]},{"items":true},{"prefixItems":[true]}]})",
       "schema.allOf[2].prefixItems: cannot be combined"},
      {R"({"$ref":"other.json"})", "schema.$ref: \"other.json\": only references that begin"},
      {R"({"$ref":"#/$defs/x"})", "schema.$ref: \"#/$defs/x\" does not exist"},
      {R"({"$ref":1})", "schema.$ref: must be a string"},
      {R"({"$ref":"#","allOf":[true]})", "nothing"},
      {"false", "schema: no value nested less deeply"},
      {R"({"$ref":"#"})", "schema: no value nested less deeply"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "schema: no value nested less deeply"},
      {R"({"properties":{"next":{"$ref":"#"}},"required":["next"]})",
       "schema: no value nested less deeply"},
      {R"({"minLength":3,"maxLength":2,"type":"string"})", "schema: no value nested less deeply"},
      {R"({"allOf":[{"type":"string"},{"type":"null"}]})", "schema: no value nested less deeply"},
      {R"({"items":{"maxLength":50000},"prefixItems":[{"maxLength":49000},{"maxLength":48000},
           {"maxLength":47000}]})",
       "the schema needs more than 150000 states"},
  };
  for (const Refused& one : kCases) {
    EXPECT_THAT(refusal(one.schema), StartsWith(std::string(one.message))) << one.schema;
  }
}

TEST(JsonSchema, RefusesPatternsThatAreNotRegular) {
  for (const std::string_view pattern :
       {R"((a)\\1)", "(?=a)",      "(?<n>a)", R"(\\bx)",  R"(\\p{L})",
        "a(^b)",     "a$b",        "(a",      "a)",       "[a",
        "*a",        "a**",        "a{3,2}",  "a{20000}", "[b-a]",
        R"(\\x1)",   R"(\\uD800)", R"(a\\)",  R"(\\q)",   "((a{100}){100}){100}"}) {
    EXPECT_THAT(refusal(fmt::format(R"({{"type":"string","pattern":"{}"}})", pattern)),
                StartsWith("schema.pattern: "))
        << pattern;
  }
}

}  // namespace
}  // namespace sluice::text
