// Without these tests a mistyped option could be taken for another or a value silently be cut.
#include "cli/options.h"

#include "base/error.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;

struct Settings {
  std::string model, effort = "max", file;
  std::optional<std::string> prompt;
  std::vector<std::string> stops;
  std::vector<TokenId> ids;
  std::vector<uint32_t> lengths = {4, 8};
  bool json = false;
  uint32_t max_new = 512;
  uint64_t memory = 0, seed = 0;
  double temperature = 0.0;
  float epsilon = 1e-6f;
  std::vector<uint64_t> sizes;

  OptionList list() {
    OptionList o;
    o.argument({"MODEL", "", "a folder"}, model, Completion::kFolder);
    o.maybe({"prompt", "TEXT", "the prompt"}, prompt);
    o.string({"file", "FILE", "a file"}, file, Completion::kFile);
    o.strings({"stop", "TEXT", "ends the answer"}, stops);
    o.ids({"ids", "LIST", "token ids"}, ids);
    o.numbers({"lengths", "N,N", "lengths"}, lengths, {1, 100});
    o.choice({"effort", "E", "how much to think"}, effort, {"low", "high", "max"});
    o.flag({"json", "", "print JSON"}, json);
    o.number({"max-new", "N", "tokens"}, max_new, {0, 1000});
    o.number({"seed", "N", "seed"}, seed, {0, UINT64_MAX});
    o.number({"temperature", "T", "temperature"}, temperature, {0.0, 100.0});
    o.ids({"drawn", "LIST", "token ids"}, ids);
    o.needs("temperature");
    o.number({"epsilon", "E", "epsilon"}, epsilon, {0.0f, 1.0f});
    o.bytes({"memory", "SIZE", "budget"}, memory);
    o.sizes({"sizes", "SIZES", "sizes"}, sizes);
    return o;
  }
  void parse(std::vector<std::string_view> words) { list().parse(words); }
};

TEST(Options, StoreWhatIsGivenAndKeepTheRest) {
  Settings s;
  s.parse({"folder",
           "--prompt",
           "",
           "--stop",
           "a",
           "--stop=b=c",
           "--ids",
           "1,2,163839",
           "--json",
           "--max-new=7",
           "--temperature",
           "0.5",
           "--memory",
           "6GiB",
           "--seed",
           "18446744073709551615",
           "--epsilon",
           "1e-5",
           "--lengths",
           "7,100,1",
           "--sizes",
           "4096,1MiB"});
  EXPECT_EQ(s.model, "folder");
  EXPECT_EQ(s.prompt, "");
  EXPECT_EQ(s.stops, (std::vector<std::string>{"a", "b=c"}));
  EXPECT_EQ(s.ids, (std::vector<TokenId>{TokenId{1}, TokenId{2}, TokenId{163839}}));
  EXPECT_EQ(s.lengths, (std::vector<uint32_t>{7, 100, 1}));
  EXPECT_EQ(s.sizes, (std::vector<uint64_t>{4096, 1u << 20}));
  EXPECT_TRUE(s.json);
  EXPECT_EQ(s.max_new, 7u);
  EXPECT_EQ(s.temperature, 0.5);
  EXPECT_EQ(s.memory, 6ull << 30);
  EXPECT_EQ(s.seed, UINT64_MAX);
  EXPECT_EQ(s.epsilon, 1e-5f);
  EXPECT_EQ(s.effort, "max");
}

TEST(Options, ANegativeNumberIsAValueAndADoubleDashEndsOptions) {
  Settings s;
  s.parse({"--prompt", "-1 is negative", "--", "--folder"});
  EXPECT_EQ(s.prompt, "-1 is negative");
  EXPECT_EQ(s.model, "--folder");
  Settings t;
  t.parse({"m", "--prompt=--json"});
  EXPECT_EQ(t.prompt, "--json");
  EXPECT_FALSE(t.json);
}

TEST(Options, TheLastArgumentsMayBeMany) {
  std::string first;
  std::vector<std::string> rest;
  const auto parse = [&](std::vector<std::string_view> words, size_t least) {
    OptionList o;
    o.argument({"FIRST", "", "one"}, first, Completion::kFile);
    o.arguments({"REST", "", "more"}, rest, Completion::kFile, least);
    o.parse(words);
  };
  parse({"a", "b", "c"}, 1);
  EXPECT_EQ(first, "a");
  EXPECT_EQ(rest, (std::vector<std::string>{"b", "c"}));
  EXPECT_NO_THROW(parse({"a"}, 0));
  EXPECT_THROW(parse({"a"}, 1), Error);
}

TEST(Options, MistakesAreNamed) {
  struct Case {
    std::vector<std::string_view> words;
    const char* message;
  };
  const Case cases[] = {
      {{}, "MODEL is missing"},
      {{"m", "extra"}, "unexpected argument \"extra\""},
      {{"m", "--promt", "x"}, "unknown option --promt; did you mean --prompt?"},
      {{"m", "--max-nwe=3"}, "unknown option --max-nwe; did you mean --max-new?"},
      {{"m", "--zzzzzzz"}, "unknown option --zzzzzzz; --help lists the options"},
      {{"m", "-p"}, "unknown option -p"},
      {{"m", "--prompt"}, "--prompt needs a value"},
      {{"m", "--prompt", "--json"}, "--prompt needs a value"},
      {{"m", "--json=1"}, "--json takes no value"},
      {{"m", "--max-new", "1001"},
       "--max-new: 1001 is out of range; give a whole number from 0 to 1000"},
      {{"m", "--max-new", "-1"}, "--max-new: -1 is out of range"},
      {{"m", "--max-new", "99999999999"}, "--max-new: 99999999999 is out of range"},
      {{"m", "--max-new", "1.5"}, "--max-new: 1.5 is out of range"},
      {{"m", "--max-new", "7x"}, "--max-new: \"7x\" is not a number"},
      {{"m", "--max-new="}, "--max-new: \"\" is not a number"},
      {{"m", "--temperature", "nan"}, "--temperature: nan is out of range"},
      {{"m", "--effort", "medium"}, "--effort: \"medium\" is not one of low, high, max"},
      {{"m", "--sizes", "4096,0"}, "--sizes must be more than 0 bytes"},
      {{"m", "--sizes", "4096,"}, "--sizes: \"\" is not a size"},
      {{"m", "--ids", "1,,2"}, "--ids: \"\" is not a number"},
      {{"m", "--ids", "1,-2"}, "--ids: -2 is out of range"},
      {{"m", "--ids", ""}, "--ids: \"\" is not a number"},
      {{"m", "--lengths", "1,0"}, "--lengths: 0 is out of range"},
      {{"m", "--drawn", "1"}, "--drawn means nothing without --temperature"},
      {{"m", "--memory", "6G"}, "--memory: \"6G\" is not a size"},
  };
  for (const Case& c : cases) {
    try {
      Settings{}.parse(c.words);
      ADD_FAILURE() << "accepted; expected: " << c.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidInput);
      EXPECT_THAT(error.what(), HasSubstr(c.message));
    }
  }
}

TEST(Options, SeenTellsADefaultFromTheSameValueGiven) {
  Settings s;
  OptionList list = s.list();
  const std::vector<std::string_view> words = {"m", "--max-new",     "512", "--drawn",
                                               "1", "--temperature", "0"};
  list.parse(words);
}

TEST(Options, NearestFindsSlipsAndNothingFar) {
  const std::vector<std::string> names = {"run", "chat", "inspect", "synth", "completion"};
  EXPECT_EQ(nearest("rnu", names), "run");
  EXPECT_EQ(nearest("inpsect", names), "inspect");
  EXPECT_EQ(nearest("completon", names), "completion");
  EXPECT_EQ(nearest("xyzzy", names), "");
}

}  // namespace
}  // namespace sluice::cli
