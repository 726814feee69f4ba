#pragma once
#include "base/error.h"
#include "cli/options.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::cli {

/// What follows "sluice": options and what it does.
class Command {
 public:
  virtual ~Command() = default;
  /// One word, or two for one of a group: "drives bench".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string summary() const = 0;            ///< One line.
  [[nodiscard]] virtual std::string details() const { return {}; }  ///< Paragraphs for its help.
  /// Binds the options to this command's members. Called once, before run().
  virtual void declare(OptionList& options) = 0;
  /// Returns the exit code. Throws Error.
  virtual int run() = 0;
};

using CommandList = std::vector<std::unique_ptr<Command>>;
/// Every command, in the order in which help lists them.
[[nodiscard]] CommandList make_commands();

[[nodiscard]] std::unique_ptr<Command> make_run_command();
[[nodiscard]] std::unique_ptr<Command> make_chat_command();
[[nodiscard]] std::unique_ptr<Command> make_serve_command();
[[nodiscard]] std::unique_ptr<Command> make_inspect_command();
[[nodiscard]] std::unique_ptr<Command> make_eval_command();
[[nodiscard]] std::unique_ptr<Command> make_routes_command();
[[nodiscard]] std::unique_ptr<Command> make_report_command();
[[nodiscard]] std::unique_ptr<Command> make_bench_command();
[[nodiscard]] std::unique_ptr<Command> make_pack_command();
[[nodiscard]] std::unique_ptr<Command> make_place_plan_command();
[[nodiscard]] std::unique_ptr<Command> make_place_apply_command();
[[nodiscard]] std::unique_ptr<Command> make_place_undo_command();
[[nodiscard]] std::unique_ptr<Command> make_place_show_command();
[[nodiscard]] std::unique_ptr<Command> make_drives_list_command();
[[nodiscard]] std::unique_ptr<Command> make_drives_bench_command();
[[nodiscard]] std::unique_ptr<Command> make_drives_watch_command();
[[nodiscard]] std::unique_ptr<Command> make_drives_compare_command();
[[nodiscard]] std::unique_ptr<Command> make_simulate_command();
[[nodiscard]] std::unique_ptr<Command> make_synth_command();
[[nodiscard]] std::unique_ptr<Command> make_completion_command();
[[nodiscard]] std::unique_ptr<Command> make_help_command();

[[nodiscard]] inline std::string_view first_word(std::string_view name) {
  return name.substr(0, name.find(' '));
}

/// Exit codes of the program.
enum ExitCode : uint8_t {
  kExitOk = 0,
  kExitInternal = 1,
  kExitInvalidInput = 2,
  kExitNotFound = 3,
  kExitCorrupt = 4,
  kExitIo = 5,
  kExitOutOfMemory = 6,
  kExitUnsupported = 7,
  kExitCancelled = 130,  // 128 + SIGINT, as shells report it.
};
[[nodiscard]] int exit_code(ErrorCode code);

}  // namespace sluice::cli
