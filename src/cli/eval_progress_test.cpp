// Without these tests an evaluation could go on from another one's figures, or lose digits on the
// way.
#include "cli/eval_progress.h"

#include "base/error.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const EvalIdentity kIdentity = {{"--window", "512"}, {"--system", "say \"hi\""}};
const EvalState kState = {.done = 3,
                          .rows = 1533,
                          .seconds = 0.1,
                          .log_probability = -1.0 / 3.0,
                          .correct = "101",
                          .output_bytes = 77,
                          .routes = {.bytes = 1u << 20, .passes = 9}};

class EvalProgressTest : public ::testing::Test {
 protected:
  ~EvalProgressTest() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string refusal(const EvalIdentity& identity) const {
    try {
      (void)EvalProgressFile(path_, identity).load();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  const std::string path_ = (std::filesystem::temp_directory_path() /
                             fmt::format("sluice-eval-progress-{}.json", ::getpid()))
                                .string();
};

TEST_F(EvalProgressTest, ComesBackToTheLastBit) {
  const EvalProgressFile file(path_, kIdentity);
  EXPECT_EQ(file.load(), EvalState{});
  file.save(kState);
  EXPECT_EQ(file.load(), kState);
}

TEST_F(EvalProgressTest, NoPathKeepsNothing) {
  const EvalProgressFile file("", kIdentity);
  EXPECT_FALSE(file.wanted());
  EXPECT_EQ(file.load(), EvalState{});
}

TEST_F(EvalProgressTest, AnotherRunIsRefusedWithTheDifference) {
  EvalProgressFile(path_, kIdentity).save(kState);
  EXPECT_EQ(refusal(kIdentity), "accepted");
  EXPECT_THAT(refusal({{"--window", "256"}, {"--system", "say \"hi\""}}),
              AllOf(HasSubstr(path_), HasSubstr("--window was 512 there and is 256 now")));
  EXPECT_THAT(refusal({{"--window", "512"}, {"--system", ""}}), HasSubstr("--system"));
  EXPECT_THAT(refusal({{"--max-new", "9"}, {"--window", "512"}}),
              HasSubstr("--max-new was nothing there and is 9 now"));
}

TEST_F(EvalProgressTest, AForeignFileIsRefused) {
  EvalProgressFile(path_, kIdentity).save(kState);
  std::ifstream in(path_);
  const std::string ours{std::istreambuf_iterator<char>(in), {}};
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = ours;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("3"), std::string("{}"), std::string(R"({"sluice_eval": "1"})"),
        ours.substr(0, ours.size() / 2), changed("\"sluice_eval\": 1", "\"sluice_eval\": 2"),
        changed("\"done\": 3", "\"done\": -3"), changed("\"done\"", "\"gone\""),
        changed("\"101\"", "101"), changed("\"512\"", "512")}) {
    std::ofstream(path_) << text;
    EXPECT_THAT(refusal(kIdentity), AllOf(HasSubstr(path_), HasSubstr("not a progress file")))
        << text;
  }
}

}  // namespace
}  // namespace sluice::cli
