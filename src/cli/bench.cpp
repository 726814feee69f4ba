#include "base/error.h"
#include "cli/bench_run.h"
#include "cli/command.h"
#include "cli/files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "format/output_file.h"

#include <string>
#include <vector>

namespace sluice::cli {
namespace {

class BenchCommand : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override {
    return "Measures the speed of a model here, and compares settings";
  }
  std::string details() const override {
    return "Each --arm is a setting to compare: a name and model options, for example --arm base= "
           "--arm small=\"--memory 6GiB --hints off\". All arms take a turn, then all take the "
           "next "
           "in opposite order, each on a model that is opened for it. An answer that is not "
           "measured "
           "fills the memory before; with --cold nothing does. Tokens are the most probable ones, "
           "past the end too, and all turns of all arms must choose the same from the same logits, "
           "or the command ends with an error. The prompt decides which experts are used and so "
           "how "
           "many are found in memory: give text like what will be asked. What drives and memory "
           "give alone is measured in each turn, for the share of it that was reached. Ctrl-C "
           "prints what there is.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  void check() const;
  void write(const BenchReport& report) const;

  ModelSettings model_;
  std::vector<std::string> arms_;
  BenchPromptSettings prompt_;
  engine::BenchSettings settings_{.prompt_tokens = {64}, .contexts = {0}, .tokens = 16};
  uint32_t turns_ = 3;
  bool json_ = false, quiet_ = false;
  std::string output_file_, svg_file_;
};

void BenchCommand::declare(OptionList& options) {
  constexpr uint32_t kTokensMax = 1u << 20, kTurnsMax = 1000;
  declare_model_folder(options, model_);
  options.group("Measuring");
  options.strings({"arm", "NAME=FLAGS",
                   "a setting to compare, the first one with all others; may be given several "
                   "times"},
                  arms_);
  options.numbers({"prompt-tokens", "N,N", "lengths of the prompts to time; 0: none"},
                  settings_.prompt_tokens, {0, kTokensMax});
  options.number({"tokens", "N", "tokens to decode at each context; 0: none"}, settings_.tokens,
                 {0, kTokensMax});
  options.numbers({"contexts", "N,N", "tokens that the sequence holds when decoding begins"},
                  settings_.contexts, {0, kTokensMax});
  options.number({"turns", "N", "turns of each arm"}, turns_, {1, kTurnsMax});
  options.flag({"cold", "",
                "open the model for each measurement: only what filled the context is in memory"},
               settings_.cold);
  declare_bench_prompt(options, prompt_);
  options.group("Output");
  options.flag({"json", "", "print one JSON object with every turn"}, json_);
  options.string({"output", "FILE", "write that object to a file, whatever is printed"},
                 output_file_, Completion::kFile);
  options.string({"svg", "FILE", "draw the speeds"}, svg_file_, Completion::kFile);
  options.flag({"quiet", "", "show no progress"}, quiet_);
  declare_model_options(options, model_, "what the longest measurement needs");
}

void BenchCommand::check() const {
  check_writable("--output", output_file_);
  check_writable("--svg", svg_file_);
  if (engine::bench_points(settings_).empty()) {
    throw Error(ErrorCode::kInvalidInput,
                "there is nothing to measure; give --prompt-tokens or --tokens more than 0");
  }
}

void BenchCommand::write(const BenchReport& report) const {
  write_output(json_ ? bench_json(report) : bench_text(report));
  for (const auto& [file, text] :
       {std::pair(&output_file_, &bench_json), std::pair(&svg_file_, &bench_svg)}) {
    if (file->empty()) continue;
    format::OutputFile out(*file);
    out.write(text(report));
    out.commit();
  }
}

int BenchCommand::run() {
  check();
  BenchReport report{.command = command_line(),
                     .time = utc_time(),
                     .machine = this_machine(),
                     .folder = model_.folder,
                     .settings = settings_,
                     .turns = turns_};
  {
    const InterruptGuard interrupt;
    BenchRun run(parse_arms(arms_, model_), prompt_, report, interrupt.flag());
    const Progress progress(
        {[&run] { return run.progress_text(); }, [&run] { return run.progress_share(); }}, quiet_);
    run.run();
  }
  write(report);
  return report.finished ? kExitOk : kExitCancelled;
}

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace sluice::cli
