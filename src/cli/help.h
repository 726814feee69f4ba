#pragma once
#include "cli/command.h"
#include "cli/options.h"

#include <string>
#include <string_view>

namespace sluice::cli {

/// What "sluice --help" prints.
[[nodiscard]] std::string overview(const CommandList& commands);
/// What "sluice GROUP --help" prints: the commands whose first of two words it is.
[[nodiscard]] std::string group_overview(std::string_view group, const CommandList& commands);
/// What "sluice COMMAND --help" prints.
[[nodiscard]] std::string command_help(const Command& command, const OptionList& options);
/// docs/cli.md: all commands, all options, the exit codes.
[[nodiscard]] std::string manual_page(const CommandList& commands);
/// The page for man(1).
[[nodiscard]] std::string man_page(const CommandList& commands);
/// A script for bash that completes commands, options and their values.
[[nodiscard]] std::string bash_completion(const CommandList& commands);

}  // namespace sluice::cli
