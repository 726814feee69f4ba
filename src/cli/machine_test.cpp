// Without these tests reports could name no processor, or a command that cannot be repeated.
#include "cli/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

TEST(Machine, NameOfTheProcessor) {
  struct Case {
    const char* cpuinfo;
    const char* name;
  };
  for (const Case& c : {
           Case{"processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9354P \nmodel name\t: B\n",
                "AMD EPYC 9354P"},
           Case{"model name:x", "x"},
           Case{"model name\t: \nmodel name\t: y", "y"},
           Case{"processor\t: 0\nCPU implementer\t: 0x41\n", ""},
           Case{"model name", ""},
           Case{"", ""},
       }) {
    EXPECT_EQ(parse_processor(c.cpuinfo), c.name) << c.cpuinfo;
  }
}

TEST(Machine, ThisOne) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GT(machine.processors, 0u);
  EXPECT_FALSE(machine.system.empty());
  EXPECT_THAT(command_line(), ::testing::HasSubstr("cli_test"));
  EXPECT_THAT(utc_time(), ::testing::MatchesRegex("2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z"));
}

}  // namespace
}  // namespace sluice::cli
