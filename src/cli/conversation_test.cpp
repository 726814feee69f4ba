// Without these tests a saved conversation could come back changed, or a foreign file end the
// program.
#include "cli/conversation.h"

#include "base/error.h"
#include "base/test_refusal.h"

#include <filesystem>
#include <fstream>
#include <functional>
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
  save_conversation(path, messages);
  const std::vector<ChatMessage> back = load_conversation(path);
  ASSERT_EQ(back.size(), messages.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].role, messages[i].role);
    EXPECT_EQ(back[i].content, messages[i].content);
    EXPECT_EQ(back[i].reasoning, messages[i].reasoning);
  }
  std::filesystem::remove(path);
}

TEST(Conversation, AForeignFileIsTold) {
  for (const char* text : {"", "{", "[]", "{\"messages\": 3}", R"({"messages": [3]})",
                           R"({"messages": [{"role": "user"}]})",
                           R"({"messages": [{"role": "root", "content": "x"}]})",
                           R"({"messages": [{"role": "user", "content": ["x"]}]})"}) {
    const auto path = temporary("foreign.json");
    std::ofstream(path) << text;
    EXPECT_THAT(refusal([&] { (void)load_conversation(path); }), HasSubstr("foreign.json")) << text;
    std::filesystem::remove(path);
  }
}

TEST(Conversation, PathsThatDoNotExistAreNamed) {
  EXPECT_THAT(refusal([] { (void)load_conversation(temporary("none")); }), HasSubstr("none"));
  EXPECT_THAT(refusal([] { save_conversation(temporary("none") / "file", {}); }),
              HasSubstr("none"));
}

TEST(Conversation, SavingReplacesNoLinkAndLeavesNothingBehind) {
  const auto folder = temporary("folder");
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink("elsewhere", folder / "link");
  EXPECT_THAT(refusal([&] { save_conversation(folder / "link", {}); }), HasSubstr("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  std::filesystem::remove(folder / "link");
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace sluice::cli
