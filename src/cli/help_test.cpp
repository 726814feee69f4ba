// Without these tests the manual page, the completion script and the help could drift from the
// options.
#include "cli/help.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

TEST(Help, TheManualPageIsWhatTheProgramPrints) {
  std::ifstream file(SLUICE_SOURCE_DIR "/docs/cli.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(page, manual_page(make_commands()))
      << "write it anew: sluice help --markdown > docs/cli.md";
}

TEST(Help, EveryOptionIsInEveryPlace) {
  const CommandList commands = make_commands();
  const std::string page = manual_page(commands), script = bash_completion(commands);
  for (const auto& command : commands) {
    OptionList options;
    command->declare(options);
    const std::string help = command_help(*command, options);
    EXPECT_THAT(overview(commands), HasSubstr("  " + command->name() + " "));
    std::set<std::string> names;
    for (const Option& option : options.all()) {
      EXPECT_TRUE(names.insert(option.text.name).second) << option.text.name << " is there twice";
      EXPECT_FALSE(option.text.help.empty()) << option.text.name;
      EXPECT_FALSE(option.text.help.ends_with('.')) << option.text.name;
      if (option.positional) continue;
      for (const std::string& text : {page, script, help}) {
        EXPECT_THAT(text, HasSubstr("--" + option.text.name)) << command->name();
      }
    }
  }
}

TEST(Help, LinesFitATerminal) {
  const CommandList commands = make_commands();
  for (const auto& command : commands) {
    OptionList options;
    command->declare(options);
    std::string rest = command_help(*command, options);
    for (size_t end = 0; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
      EXPECT_LE(end, 100u) << rest.substr(0, end);
    }
  }
}

TEST(Help, ExitCodesAreDistinct) {
  std::set<int> codes = {kExitOk, kExitInternal};
  for (const ErrorCode code :
       {ErrorCode::kInvalidInput, ErrorCode::kNotFound, ErrorCode::kCorrupt, ErrorCode::kIo,
        ErrorCode::kOutOfMemory, ErrorCode::kUnsupported, ErrorCode::kCancelled}) {
    EXPECT_TRUE(codes.insert(exit_code(code)).second);
    EXPECT_THAT(overview(make_commands()),
                HasSubstr("\n  " + std::to_string(exit_code(code)) + " "));
  }
}

}  // namespace
}  // namespace sluice::cli
