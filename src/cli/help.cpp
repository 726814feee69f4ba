#include "cli/help.h"

#include "cli/help_text.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

constexpr size_t kWidth = 100;     // Columns of help texts.
constexpr size_t kNameWidth = 28;  // Columns of names in help texts.

/// `text` cut into lines of at most kWidth columns, all but the first indented.
std::string wrap(std::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + end > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string entry(std::string_view name, std::string_view text) {
  const size_t used = name.size() + 2;
  const std::string gap = used + 1 > kNameWidth ? "\n" + std::string(kNameWidth, ' ')
                                                : std::string(kNameWidth - used, ' ');
  return fmt::format("  {}{}{}\n", name, gap, wrap(text, kNameWidth));
}

/// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

/// Where the manual page has a command's heading.
std::string anchor(const Command& command) {
  std::string out = "sluice-" + command.name();
  std::ranges::replace(out, ' ', '-');
  return out;
}

std::string completion_of(const Option& option) {
  if (!option.choices.empty()) {
    return fmt::format(R"(COMPREPLY=($(compgen -W "{}" -- "$word")))",
                       fmt::join(option.choices, " "));
  }
  switch (option.completion) {
    case Completion::kFile:
      return R"(COMPREPLY=($(compgen -f -- "$word")))";
    case Completion::kFolder:
      return R"(COMPREPLY=($(compgen -d -- "$word")))";
    case Completion::kNothing:
      break;
  }
  return "COMPREPLY=()";
}

/// The branch of the completion script for one command.
std::string bash_branch(const Command& command, const OptionList& options) {
  std::string values, names = "--help", arguments = "COMPREPLY=()";
  for (const Option& option : options.all()) {
    if (option.positional) {
      arguments = completion_of(option);
      continue;
    }
    names += " --" + option.text.name;
    if (option.is_flag()) continue;
    values += fmt::format("        --{}) {}; return ;;\n", option.text.name, completion_of(option));
  }
  std::string out = fmt::format("    \"{}\")\n", command.name());
  if (!values.empty()) out += "      case \"$before\" in\n" + values + "      esac\n";
  out += fmt::format(
      "      if [[ \"$word\" == -* ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n"
      "      else {}\n      fi ;;\n",
      names, arguments);
  return out;
}

}  // namespace

std::string overview(const CommandList& commands) {
  std::string out =
      "Sluice runs Kimi K3 from a released checkpoint, within a memory budget.\n\n"
      "Usage: sluice COMMAND [options]\n\nCommands:\n";
  for (const auto& command : commands) out += entry(command->name(), command->summary());
  out += "\n" + entry("--help", "this text; after a command, its options");
  out += entry("--version", "the version");
  out += "\nExit codes:\n";
  for (const auto& [code, meaning] : exit_meanings()) out += entry(std::to_string(code), meaning);
  return out;
}

std::string group_overview(std::string_view group, const CommandList& commands) {
  std::string out = fmt::format("Usage: sluice {} COMMAND [options]\n\nCommands:\n", group);
  for (const auto& command : commands) {
    if (first_word(command->name()) == group) out += entry(command->name(), command->summary());
  }
  return out + "\n" + entry("--help", "after a command: its options");
}

std::string command_help(const Command& command, const OptionList& options) {
  std::string out =
      fmt::format("Usage: {}\n\n{}\n", usage(command, options), wrap(command.summary(), 0));
  for (const std::string& paragraph : paragraphs_of(command.details())) {
    out += "\n" + wrap(paragraph, 0) + "\n";
  }
  for (const std::string& group : groups_of(options)) {
    out += "\n" + group + ":\n";
    for (const Option& option : options.all()) {
      if (option.group == group) out += entry(option_name(option), option_help(option));
    }
  }
  return out;
}

std::string manual_page(const CommandList& commands) {
  std::string out =
      "# Command line\n\nThis page is what `sluice help --markdown` prints; a test compares "
      "them.\n\n"
      "| command | does |\n|---|---|\n";
  for (const auto& command : commands) {
    out += fmt::format("| [`{}`](#{}) | {} |\n", command->name(), anchor(*command),
                       cell(command->summary()));
  }
  for (const auto& command : commands) {
    const OptionList options = options_of(*command);
    out += fmt::format("\n## sluice {}\n\n    {}\n\n{}.\n", command->name(),
                       usage(*command, options), command->summary());
    if (!command->details().empty()) out += "\n" + command->details() + "\n";
    for (const std::string& group : groups_of(options)) {
      out += fmt::format("\n| {} | |\n|---|---|\n", group);
      for (const Option& option : options.all()) {
        if (option.group != group) continue;
        out += fmt::format("| `{}` | {} |\n", option_name(option), cell(option_help(option)));
      }
    }
  }
  out += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const auto& [code, meaning] : exit_meanings())
    out += fmt::format("| {} | {} |\n", code, meaning);
  return out;
}

std::string bash_completion(const CommandList& commands) {
  std::vector<std::string> first;                          // Words after "sluice".
  std::map<std::string, std::vector<std::string>> second;  // By them, for groups.
  std::string branches, groups;
  for (const auto& command : commands) {
    const std::string name = command->name(), word(first_word(name));
    if (std::ranges::find(first, word) == first.end()) first.push_back(word);
    if (word != name) second[word].push_back(name.substr(word.size() + 1));
    branches += bash_branch(*command, options_of(*command));
  }
  for (const auto& [word, words] : second) {
    groups += fmt::format(
        "    {})\n"
        "      if [[ \"$COMP_CWORD\" -eq 2 ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); "
        "return; fi\n"
        "      command+=\" ${{COMP_WORDS[2]}}\" ;;\n",
        word, fmt::join(words, " "));
  }
  return fmt::format(
      R"(# bash completion for sluice; load it with: source <(sluice completion bash)
_sluice() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [[ "$COMP_CWORD" -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    return
  fi
  local command="${{COMP_WORDS[1]}}"
  case "$command" in
{}  esac
  case "$command" in
{}  esac
}}
complete -o filenames -F _sluice sluice
)",
      fmt::join(first, " "), groups, branches);
}

}  // namespace sluice::cli
