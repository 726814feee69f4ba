#include "base/error.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/terminal.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

int run_program(const std::vector<std::string_view>& words) {
  const CommandList commands = make_commands();
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    write_output(overview(commands));
    return words.empty() ? kExitInvalidInput : kExitOk;
  }
  if (words[0] == "--version") {
    write_output("sluice " SLUICE_VERSION "\n");
    return kExitOk;
  }
  const auto command = std::ranges::find_if(
      commands, [&](const auto& candidate) { return candidate->name() == words[0]; });
  if (command == commands.end()) {
    std::vector<std::string> names;
    for (const auto& known : commands) names.push_back(known->name());
    const std::string_view meant = nearest(words[0], names);
    throw Error(ErrorCode::kInvalidInput, "unknown command \"{}\"{}", words[0],
                meant.empty() ? "; sluice --help lists the commands"
                              : fmt::format("; did you mean {}?", meant));
  }
  OptionList options;
  (*command)->declare(options);
  const std::vector<std::string_view> rest(words.begin() + 1, words.end());
  if (std::ranges::find(rest, "--help") != rest.end() ||
      std::ranges::find(rest, "-h") != rest.end()) {
    write_output(command_help(**command, options));
    return kExitOk;
  }
  options.parse(rest);
  return (*command)->run();
}

int report(std::string_view what, int code) {
  fmt::print(stderr, "sluice: {}\n", what);
  return code;
}

}  // namespace
}  // namespace sluice::cli

int main(int argc, char** argv) {
  using namespace sluice::cli;
  ignore_broken_pipes();
  try {
    return run_program({argv + 1, argv + argc});
  } catch (const sluice::Error& error) {
    return report(error.what(), exit_code(error.code()));
  } catch (const std::bad_alloc&) {
    return report("the system refused memory; give a smaller --memory", kExitOutOfMemory);
  } catch (const std::exception& error) {
    return report(error.what(), kExitInternal);
  }
}
