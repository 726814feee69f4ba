#include "cli/command.h"

#include "base/check.h"

namespace sluice::cli {

CommandList make_commands() {
  CommandList commands;
  commands.push_back(make_run_command());
  commands.push_back(make_chat_command());
  commands.push_back(make_serve_command());
  commands.push_back(make_inspect_command());
  commands.push_back(make_eval_command());
  commands.push_back(make_routes_command());
  commands.push_back(make_report_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_pack_command());
  commands.push_back(make_place_plan_command());
  commands.push_back(make_place_apply_command());
  commands.push_back(make_place_undo_command());
  commands.push_back(make_place_show_command());
  commands.push_back(make_drives_list_command());
  commands.push_back(make_drives_bench_command());
  commands.push_back(make_drives_watch_command());
  commands.push_back(make_drives_compare_command());
  commands.push_back(make_simulate_command());
  commands.push_back(make_synth_command());
  commands.push_back(make_completion_command());
  commands.push_back(make_help_command());
  return commands;
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return kExitInvalidInput;
    case ErrorCode::kNotFound:
      return kExitNotFound;
    case ErrorCode::kCorrupt:
      return kExitCorrupt;
    case ErrorCode::kIo:
      return kExitIo;
    case ErrorCode::kOutOfMemory:
      return kExitOutOfMemory;
    case ErrorCode::kUnsupported:
      return kExitUnsupported;
    case ErrorCode::kCancelled:
      return kExitCancelled;
  }
  SLUICE_CHECK(false);
  return kExitInternal;
}

}  // namespace sluice::cli
