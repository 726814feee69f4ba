#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/terminal.h"
#include "cli/volume_table.h"
#include "stream/memory_plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Figures = std::vector<std::pair<const char*, uint64_t>>;

/// The numbers of a shape that tell models apart, in the order in which they are shown.
Figures shape_figures(const model::ModelShape& shape) {
  uint64_t mla_layers = 0;
  for (const bool mla : shape.is_mla) mla_layers += mla ? 1 : 0;
  return {{"layers", shape.layers},
          {"mla_layers", mla_layers},
          {"dense_layers", shape.dense_layers},
          {"hidden", shape.hidden},
          {"vocab", shape.vocab},
          {"kda_heads", shape.kda_heads},
          {"kda_head_dim", shape.kda_head_dim},
          {"mla_heads", shape.mla_heads},
          {"q_lora", shape.q_lora},
          {"kv_lora", shape.kv_lora},
          {"experts", shape.experts},
          {"experts_per_token", shape.experts_per_token},
          {"expert_hidden", shape.expert_hidden},
          {"latent", shape.latent},
          {"shared_hidden", shape.shared_hidden},
          {"attn_residual_block", shape.attn_residual_block},
          {"context_max", shape.context_max}};
}

Figures byte_figures(const model::Inspection& inspection) {
  return {{"spine", inspection.spine_bytes},
          {"experts", inspection.expert_bytes},
          {"other", inspection.other_bytes}};
}

nlohmann::ordered_json object(const Figures& figures) {
  nlohmann::ordered_json out;
  for (const auto& [name, value] : figures) out[name] = value;
  return out;
}

class InspectCommand : public Command {
 public:
  std::string name() const override { return "inspect"; }
  std::string summary() const override { return "Shows what a model is and what of it fits here"; }
  void declare(OptionList& options) override {
    declare_model_folder(options, model_);
    declare_model_options(options, model_, fmt::format("{}", model::LoadOptions{}.context));
    options.group("Output");
    options.flag({"json", "", "print one JSON object"}, json_);
  }
  int run() override {
    const model::Inspection inspection = model::inspect_model(model_.folder, load_options(model_));
    write_output(json_ ? json(inspection) : text(inspection));
    return kExitOk;
  }

 private:
  [[nodiscard]] std::string json(const model::Inspection& inspection) const {
    nlohmann::ordered_json report;
    report["model"] = model_.folder;
    report["shape"] = object(shape_figures(inspection.shape));
    report["tensors"] = inspection.tensors;
    report["expert_count"] = inspection.expert_count;
    report["bytes"] = object(byte_figures(inspection));
    report["volumes"] = nlohmann::ordered_json::parse(volumes_json(inspection.volumes));
    report["notes"] = inspection.notes;
    const stream::MemoryPlan& plan = inspection.plan;
    report["memory"] = {{"fits", plan.fits}, {"minimum_bytes", plan.minimum_bytes}};
    if (plan.fits) {
      report["memory"]["total_bytes"] = plan.total_bytes;
      report["memory"]["spine_resident_bytes"] = plan.spine_resident_bytes;
      report["memory"]["spine_streamed_bytes"] = plan.spine_streamed_bytes;
      report["memory"]["expert_slots"] = plan.expert_slots;
    }
    report["read_method"] = inspection.read_method;
    return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }

  [[nodiscard]] std::string text(const model::Inspection& inspection) const {
    std::string out = fmt::format("{}\n\nShape\n", model_.folder);
    for (const auto& [name, value] : shape_figures(inspection.shape)) {
      out += fmt::format("  {:<22}{:>12}\n", name, value);
    }
    out += fmt::format("\nBytes ({} tensors, {} experts)\n", inspection.tensors,
                       inspection.expert_count);
    for (const auto& [name, bytes] : byte_figures(inspection)) {
      out += fmt::format("  {:<22}{:>12}\n", name, stream::human_bytes(bytes));
    }
    out += "\nVolumes\n" + volume_table(inspection.volumes);
    for (const std::string& note : inspection.notes) out += fmt::format("  note: {}\n", note);
    return out + fmt::format("\nMemory\n{}Weights are read by {}.\n", inspection.memory_table,
                             inspection.read_method);
  }

  ModelSettings model_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace sluice::cli
