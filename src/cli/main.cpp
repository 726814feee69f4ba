#include "base/error.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/version.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sluice::cli {
namespace {

/// The command that the first words name, and how many they are; none for an unknown one.
std::pair<Command*, size_t> find_command(const CommandList& commands,
                                         const std::vector<std::string_view>& words) {
  for (size_t count = std::min<size_t>(2, words.size()); count > 0; --count) {
    const std::string name =
        fmt::format("{}", fmt::join(words.begin(), words.begin() + count, " "));
    const auto found = std::ranges::find(commands, name, [](const auto& c) { return c->name(); });
    if (found != commands.end()) return {found->get(), count};
  }
  return {nullptr, 0};
}

/// Whether it is the first word of commands that have two.
bool is_group(const CommandList& commands, std::string_view word) {
  return std::ranges::any_of(commands, [&](const auto& command) {
    return command->name() != word && first_word(command->name()) == word;
  });
}

bool asks_for_help(std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [](auto word) { return word == "--help" || word == "-h"; });
}

[[noreturn]] void refuse_command(const CommandList& commands,
                                 const std::vector<std::string_view>& words) {
  std::vector<std::string> names;
  for (const auto& known : commands) names.push_back(known->name());
  const std::string given = words.size() > 1 && is_group(commands, words[0])
                                ? fmt::format("{} {}", words[0], words[1])
                                : std::string(words[0]);
  const std::string_view meant = nearest(given, names);
  throw Error(ErrorCode::kInvalidInput, "unknown command \"{}\"{}", given,
              meant.empty() ? "; sluice --help lists the commands"
                            : fmt::format("; did you mean {}?", meant));
}

int run_program(const std::vector<std::string_view>& words) {
  const CommandList commands = make_commands();
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    write_output(overview(commands));
    return words.empty() ? kExitInvalidInput : kExitOk;
  }
  if (words[0] == "--version") {
    write_output(fmt::format("sluice {}\n", kVersion));
    return kExitOk;
  }
  const auto [command, name_words] = find_command(commands, words);
  if (command == nullptr) {
    const bool alone = words.size() == 1 || asks_for_help(std::span(words).subspan(1, 1));
    if (!alone || !is_group(commands, words[0])) refuse_command(commands, words);
    write_output(group_overview(words[0], commands));
    return words.size() == 1 ? kExitInvalidInput : kExitOk;
  }
  OptionList options;
  command->declare(options);
  const std::span<const std::string_view> rest = std::span(words).subspan(name_words);
  if (asks_for_help(rest)) {
    write_output(command_help(*command, options));
    return kExitOk;
  }
  options.parse(rest);
  return command->run();
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
