// Without this test the default memory budget could overlook a container's limit, and the kernel
// would end the program.
#include "stream/system_memory.h"

#include <gtest/gtest.h>

namespace sluice::stream {
namespace {

struct GroupCase {
  const char* text;
  std::optional<std::string> v1, v2;
};

TEST(SystemMemory, FindsTheMemoryGroups) {
  const GroupCase cases[] = {
      {"", {}, {}},
      {"no colons\n\n:\n", {}, {}},
      {"0::/user.slice/app.scope\n", {}, "/user.slice/app.scope"},
      {"0::/\n", {}, ""},
      {"9:name=systemd:/\n4:memory:/docker/12ab\n0::/\n", "/docker/12ab", ""},
      {"3:cpu,cpuacct:/x\n2:hugetlb,memory:/a:b/c", "/a:b/c", {}},
      {"5:memory_other,nomemory:/x\n", {}, {}},
  };
  for (const GroupCase& c : cases) {
    EXPECT_EQ(parse_memory_groups(c.text), (MemoryGroups{c.v1, c.v2})) << c.text;
  }
}

TEST(SystemMemory, ReadsLimits) {
  const std::pair<const char*, std::optional<uint64_t>> cases[] = {
      {"max\n", {}},
      {"", {}},
      {"8589934592\n", 8589934592},
      {"4096", 4096},
      {"0\n", 0},
      {"9223372036854771712\n", {}},
      {"99999999999999999999999\n", {}},
      {"-1\n", {}},
  };
  for (const auto& [text, limit] : cases) EXPECT_EQ(parse_group_limit(text), limit) << text;
}

TEST(SystemMemory, ReadsMeminfo) {
  const char* text =
      "MemTotal:       24684084 kB\nMemAvailable:   24281732 kB\nMemAvail: 7 kB\nBroken:\n";
  EXPECT_EQ(parse_meminfo(text, "MemAvailable"), uint64_t{24281732} * 1024);
  EXPECT_EQ(parse_meminfo(text, "MemTotal"), uint64_t{24684084} * 1024);
  EXPECT_EQ(parse_meminfo(text, "MemAvail"), 7u * 1024);
  EXPECT_EQ(parse_meminfo(text, "Mem"), std::nullopt);
  EXPECT_EQ(parse_meminfo(text, "Broken"), std::nullopt);
  EXPECT_EQ(parse_meminfo("", "MemTotal"), std::nullopt);
}

TEST(SystemMemory, TakesNineTenthsOfTheTightestBound) {
  EXPECT_EQ(default_memory_budget(1000, 2000, 5000), 900u);
  EXPECT_EQ(default_memory_budget(3000, 2000, 5000), 1800u);
  EXPECT_EQ(default_memory_budget({}, 2000, 5000), 1800u);
  EXPECT_EQ(default_memory_budget(1000, {}, 5000), 900u);
  EXPECT_EQ(default_memory_budget({}, {}, 5000), 4500u);
  EXPECT_EQ(default_memory_budget(0, 2000, 5000), 0u);
}

TEST(SystemMemory, ThisSystemHasSome) {
  EXPECT_GT(measure_memory_budget(), 16u << 20);
  EXPECT_LT(measure_memory_budget(), uint64_t{1} << 60);
}

}  // namespace
}  // namespace sluice::stream
