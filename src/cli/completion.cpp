#include "cli/command.h"
#include "cli/help.h"
#include "cli/terminal.h"

#include <cstdio>
#include <memory>
#include <string>

namespace sluice::cli {
namespace {

class CompletionCommand : public Command {
 public:
  std::string name() const override { return "completion"; }
  std::string summary() const override { return "Prints a completion script for a shell"; }
  std::string details() const override { return "For bash: source <(sluice completion bash)"; }
  void declare(OptionList& options) override {
    options.optional_argument({"SHELL", "", "the shell"}, shell_, {"bash"});
  }
  int run() override {
    write_output(bash_completion(make_commands()));
    return kExitOk;
  }

 private:
  std::string shell_ = "bash";
};

class HelpCommand : public Command {
 public:
  std::string name() const override { return "help"; }
  std::string summary() const override { return "Prints the help of all commands"; }
  void declare(OptionList& options) override {
    options.flag({"markdown", "", "print the manual page docs/cli.md"}, markdown_);
    options.flag({"man", "", "print the page for man(1)"}, man_);
  }
  int run() override {
    const CommandList commands = make_commands();
    if (markdown_ || man_) {
      write_output(markdown_ ? manual_page(commands) : man_page(commands));
      return kExitOk;
    }
    write_output(overview(commands));
    for (const auto& command : commands) {
      OptionList options;
      command->declare(options);
      write_output("\n" + command_help(*command, options));
    }
    return kExitOk;
  }

 private:
  bool markdown_ = false, man_ = false;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() { return std::make_unique<CompletionCommand>(); }
std::unique_ptr<Command> make_help_command() { return std::make_unique<HelpCommand>(); }

}  // namespace sluice::cli
