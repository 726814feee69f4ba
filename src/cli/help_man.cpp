// The page of man(1), in the macros of man(7).
#include "cli/help.h"
#include "cli/help_text.h"
#include "cli/version.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

/// Text that troff takes as it is.
std::string plain(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string man_command(const Command& command, const OptionList& options) {
  std::string out = fmt::format(".SS {}\n.B {}\n.PP\n{}.\n", plain(command.name()),
                                plain(usage(command, options)), plain(command.summary()));
  for (const std::string& paragraph : paragraphs_of(command.details())) {
    out += ".PP\n" + plain(paragraph) + "\n";
  }
  for (const std::string& group : groups_of(options)) {
    out += fmt::format(".PP\n.I {}\n", plain(group));
    for (const Option& option : options.all()) {
      if (option.group != group) continue;
      out +=
          fmt::format(".TP\n.B {}\n{}\n", plain(option_name(option)), plain(option_help(option)));
    }
  }
  return out;
}

}  // namespace

std::string man_page(const CommandList& commands) {
  std::string out = fmt::format(
      ".TH SLUICE 1 \"\" \"sluice {}\" \"User Commands\"\n"
      ".SH NAME\nsluice \\- runs Kimi K3 from its released checkpoint, within a memory budget\n"
      ".SH SYNOPSIS\n.B sluice\n.I COMMAND\n[options]\n"
      ".SH DESCRIPTION\nSluice keeps in memory what fits, and reads the other weights from the "
      "drives while the model runs. Its answers do not depend on how much that is.\n"
      ".SH COMMANDS\n",
      plain(kVersion));
  for (const auto& command : commands) out += man_command(*command, options_of(*command));
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_meanings()) {
    out += fmt::format(".TP\n.B {}\n{}\n", code, plain(meaning));
  }
  return out;
}

}  // namespace sluice::cli
