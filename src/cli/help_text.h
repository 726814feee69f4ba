#pragma once
#include "cli/command.h"
#include "cli/options.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

// What all forms of help say.

struct ExitMeaning {
  int code;
  std::string_view text;
};
[[nodiscard]] std::span<const ExitMeaning> exit_meanings();

/// What stands between empty lines.
[[nodiscard]] std::vector<std::string> paragraphs_of(std::string_view text);

/// "--port N", or the name of an argument.
[[nodiscard]] std::string option_name(const Option& option);
/// Its text, choices and default.
[[nodiscard]] std::string option_help(const Option& option);
/// "sluice run MODEL [options]".
[[nodiscard]] std::string usage(const Command& command, const OptionList& options);

[[nodiscard]] OptionList options_of(Command& command);
/// The headings in the order of their first option.
[[nodiscard]] std::vector<std::string> groups_of(const OptionList& options);

}  // namespace sluice::cli
