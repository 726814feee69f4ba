// Without this test the name of a tool or of an argument could differ from the one that the client
// declared.
#include "text/markup_tag.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace sluice::text {
namespace {

TEST(MarkupTag, ReadsNamesAndAttributes) {
  struct Case {
    std::string_view text, expected;
  };
  for (const Case& c : {
           Case{"", ""},
           {"think", "think"},
           {R"(call tool="f" index="1")", "call tool=f index=1"},
           {R"(call tool="")", "call tool="},
           {R"(call  tool="a b"  index="1" )", "call tool=a b index=1"},
           {R"(x a="&amp;&quot;&lt;&" b="&amp;quot;")", R"(x a=&"&lt;& b=&quot;)"},
           {R"(x a="1" a="2")", "x a=1 a=2"},
           // Malformed ones.
           {R"(call index=1 tool="f")", "call tool=f"},
           {R"(call junk tool="f")", "call tool=f"},
           {R"(call tool="f)", "call"},
           {R"(call tool=f)", "call"},
           {R"(call ="f")", "call =f"},
           {R"(call tool="f"index="1")", "call tool=f index=1"},
           {R"( call)", ""},
       }) {
    const MarkupTag tag = parse_markup_tag(c.text);
    std::string line = tag.name;
    for (const auto& [key, value] : tag.attributes) line += fmt::format(" {}={}", key, value);
    EXPECT_EQ(line, c.expected) << c.text;
  }
}

TEST(MarkupTag, FindsTheFirst) {
  const MarkupTag tag = parse_markup_tag(R"(x a="1" a="2")");
  ASSERT_NE(tag.find("a"), nullptr);
  EXPECT_EQ(*tag.find("a"), "1");
  EXPECT_EQ(tag.find("b"), nullptr);
}

}  // namespace
}  // namespace sluice::text
