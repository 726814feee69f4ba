#include "base/error.h"
#include "base/read_file.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "format/synthetic_checkpoint.h"
#include "stream/memory_plan.h"
#include "text/synthetic_ranks.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

class SynthCommand : public Command {
 public:
  std::string name() const override { return "synth"; }
  std::string summary() const override {
    return "Writes a checkpoint with random weights in the released layout";
  }
  std::string details() const override {
    return "What such a model writes is noise, but every part of the program works on it as on the "
           "real one. The same shape and seed give the same bytes on every machine. `--shape k3 "
           "--layers 4 --experts 32` has the real tensor sizes.";
  }
  void declare(OptionList& options) override {
    options.string({"to", "DIR", "the folder to write"}, folder_, Completion::kFolder);
    options.string({"shape", "SHAPE", "tiny, k3, or a JSON file with the fields of a shape"},
                   shape_, Completion::kFile);
    options.number({"layers", "N", "another depth"}, layers_, {1, 1000});
    options.describe_default("that of the shape");
    options.number({"experts", "N", "another number of experts in a layer"}, experts_, {1, 65536});
    options.describe_default("that of the shape");
    options.number({"seed", "N", "of the random weights"}, seed_, {0, UINT64_MAX});
    options.flag({"force", "", "replace a checkpoint that this command wrote there"}, force_);
    options.flag({"quiet", "", "show no progress"}, quiet_);
  }
  int run() override;

 private:
  [[nodiscard]] format::SyntheticShape shape() const;

  std::string folder_, shape_ = "tiny";
  uint32_t layers_ = 0, experts_ = 0;
  uint64_t seed_ = 1;
  bool force_ = false, quiet_ = false;
};

format::SyntheticShape SynthCommand::shape() const {
  if (shape_ == "tiny") return format::SyntheticShape::tiny();
  if (shape_ == "k3") return format::SyntheticShape::k3();
  constexpr uint64_t kShapeBytesMax = 1u << 20;
  const FileText file = read_file(shape_, kShapeBytesMax);
  if (!file.trouble.empty()) {
    throw Error(ErrorCode::kNotFound, "--shape: \"{}\" is neither tiny nor k3, and as a file it {}",
                shape_, file.trouble);
  }
  return format::SyntheticShape::from_json(file.text, shape_);
}

int SynthCommand::run() {
  if (folder_.empty())
    throw Error(ErrorCode::kInvalidInput, "--to is missing: the folder to write");
  format::SyntheticShape shape = this->shape();
  if (layers_ != 0) shape.set_layers(layers_);
  if (experts_ != 0) shape.set_experts(experts_);

  const uint64_t total = format::synthetic_bytes(shape);
  std::atomic<uint64_t> done{0};
  format::SyntheticOptions options{.seed = seed_, .overwrite = force_, .progress = {}};
  options.progress = [&](uint64_t bytes, uint64_t) { done = bytes; };
  {
    const Progress progress(
        {[&] {
           return fmt::format("{} of {}", stream::human_bytes(done), stream::human_bytes(total));
         },
         [&] { return static_cast<double>(done) / static_cast<double>(total); }},
        quiet_);
    format::write_synthetic_checkpoint(folder_, shape, options);
  }
  text::write_synthetic_rank_file(std::filesystem::path(folder_) / "tiktoken.model", shape.vocab);
  if (!quiet_)
    write_output(
        fmt::format("{}: {} in {} layers\n", folder_, stream::human_bytes(total), shape.layers));
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_synth_command() { return std::make_unique<SynthCommand>(); }

}  // namespace sluice::cli
