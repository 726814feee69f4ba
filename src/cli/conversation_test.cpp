// Without these tests a saved conversation could come back changed, or a foreign file end the
// program.
#include "cli/conversation.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) /
         (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + name);
}

TEST(Conversation, ComesBackAsItWas) {
  const std::vector<ChatMessage> messages = {{"system", "Be brief.", ""},
                                             {"user", "\"quotes\"\n\t\xe4\xbd\xa0", ""},
                                             {"assistant", "", "thinking <|open|>"}};
  const auto path = temporary("whole.json");
  EXPECT_EQ(save_conversation(path, messages), "");
  std::vector<ChatMessage> back;
  EXPECT_EQ(load_conversation(path, back), "");
  ASSERT_EQ(back.size(), messages.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].role, messages[i].role);
    EXPECT_EQ(back[i].content, messages[i].content);
    EXPECT_EQ(back[i].reasoning, messages[i].reasoning);
  }
  std::filesystem::remove(path);
}

TEST(Conversation, AForeignFileIsToldAndChangesNothing) {
  for (const char* text : {"", "{", "[]", "{\"messages\": 3}", R"({"messages": [3]})",
                           R"({"messages": [{"role": "user"}]})",
                           R"({"messages": [{"role": "root", "content": "x"}]})",
                           R"({"messages": [{"role": "user", "content": ["x"]}]})"}) {
    const auto path = temporary("foreign.json");
    std::ofstream(path) << text;
    std::vector<ChatMessage> messages = {{"user", "kept", ""}};
    EXPECT_THAT(load_conversation(path, messages), HasSubstr("foreign.json")) << text;
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].content, "kept");
    std::filesystem::remove(path);
  }
}

TEST(Conversation, PathsThatDoNotExistAreNamed) {
  std::vector<ChatMessage> messages;
  EXPECT_THAT(load_conversation(temporary("none"), messages), HasSubstr("none"));
  EXPECT_THAT(save_conversation(temporary("none") / "file", messages), HasSubstr("none"));
}

}  // namespace
}  // namespace sluice::cli
