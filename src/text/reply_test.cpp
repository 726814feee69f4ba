// Without this test a client could take a reply that was cut off for a complete one, or not carry
// out its calls.
#include "text/reply.h"

#include <gtest/gtest.h>

namespace sluice::text {
namespace {

TEST(Reply, SaysWhyItEnds) {
  struct Case {
    ReplyEnd end;
    size_t calls;
    std::string_view reason;
  };
  for (const Case& c : {Case{ReplyEnd::kByItself, 0, "stop"},
                        {ReplyEnd::kByItself, 2, "tool_calls"},
                        {ReplyEnd::kStopString, 0, "stop"},
                        {ReplyEnd::kStopString, 1, "stop"},
                        {ReplyEnd::kCut, 0, "length"},
                        {ReplyEnd::kCut, 1, "length"}}) {
    EXPECT_EQ(finish_reason(c.end, c.calls), c.reason) << c.calls << " calls";
  }
}

}  // namespace
}  // namespace sluice::text
