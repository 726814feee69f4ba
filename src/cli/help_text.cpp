#include "cli/help_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace sluice::cli {

std::span<const ExitMeaning> exit_meanings() {
  static constexpr std::array<ExitMeaning, 9> kMeanings = {{
      {kExitOk, "success"},
      {kExitInternal, "an unexpected failure: please report it"},
      {kExitInvalidInput, "an option, prompt or argument that cannot be right"},
      {kExitNotFound, "a file, folder or tensor does not exist"},
      {kExitCorrupt, "a file is damaged or contradicts another"},
      {kExitIo, "the system could not read or write"},
      {kExitOutOfMemory, "it does not fit the memory budget"},
      {kExitUnsupported, "a valid file or option that this build does not implement"},
      {kExitCancelled, "stopped by Ctrl-C, after printing what there was"},
  }};
  return kMeanings;
}

std::vector<std::string> paragraphs_of(std::string_view text) {
  std::vector<std::string> paragraphs;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    paragraphs.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string option_name(const Option& option) {
  if (option.positional) return option.text.name;
  return "--" + option.text.name + (option.is_flag() ? "" : " " + option.text.value);
}

std::string option_help(const Option& option) {
  std::string text = option.text.help;
  if (!option.choices.empty()) {
    text += fmt::format("; one of {}", fmt::join(option.choices, ", "));
  }
  if (!option.needs.empty()) text += fmt::format("; needs --{}", option.needs);
  if (!option.fallback.empty()) text += fmt::format(" (default: {})", option.fallback);
  return text;
}

std::string usage(const Command& command, const OptionList& options) {
  std::string out = "sluice " + command.name();
  for (const Option& option : options.all()) {
    if (!option.positional) continue;
    const std::string name = option.text.name + (option.repeated ? "..." : "");
    out += fmt::format(fmt::runtime(option.required ? " {}" : " [{}]"), name);
  }
  return out + " [options]";
}

OptionList options_of(Command& command) {
  OptionList options;
  command.declare(options);
  return options;
}

std::vector<std::string> groups_of(const OptionList& options) {
  std::vector<std::string> groups;
  for (const Option& option : options.all()) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  return groups;
}

}  // namespace sluice::cli
