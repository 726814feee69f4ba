#include "benchmark.h"

#include "base/error.h"
#include "cli/help_text.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace sluice::bench {
namespace {

void print_help(std::string_view about, const cli::OptionList& options) {
  fmt::print("{}\n", about);
  for (const cli::Option& option : options.all()) {
    fmt::print("  {}: {}\n", cli::option_name(option), cli::option_help(option));
  }
}

}  // namespace

int run_main(int argc, char** argv, std::string_view about, cli::OptionList& options,
             const std::function<void()>& run) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  try {
    if (std::ranges::find(words, "--help") != words.end()) {
      print_help(about, options);
      return 0;
    }
    options.parse(words);
    run();
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return error.code() == ErrorCode::kInvalidInput ? 2 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

}  // namespace sluice::bench
