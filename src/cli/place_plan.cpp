#include "base/error.h"
#include "cli/command.h"
#include "cli/pack_targets.h"
#include "cli/place_options.h"
#include "cli/size_text.h"
#include "cli/terminal.h"
#include "model/placement_planning.h"
#include "stream/memory_plan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using model::PlannedPlacement;
using model::PlanOutlook;
using stream::human_bytes;

constexpr double kMega = 1e6, kGiga = 1e9;

/// What a drive reads each second when each token needs all of its reads.
double rate_within(const model::PlacementFigures& figures, double read_bytes) {
  return figures.seconds > 0.0 ? read_bytes / figures.seconds : 0.0;
}

std::string drive_table(const PlanOutlook& outlook) {
  std::string out = fmt::format("  {:<12}{:>8}{:>12}{:>13}{:>12}{:>11}{:>8}{:>8}\n", "drive",
                                "MB/s", "room", "holds now", "then", "MB/token", "share", "GB/s");
  for (size_t d = 0; d < outlook.drives.size(); ++d) {
    const model::PlacedDrive& drive = outlook.drives[d];
    const model::PlacementFigures::Drive& then = outlook.then.drives[d];
    const double share =
        outlook.then.read_bytes > 0.0 ? then.read_bytes / outlook.then.read_bytes : 0.0;
    out += fmt::format("  {:<12}{:>8.0f}{:>12}{:>13}{:>12}{:>11.1f}{:>7.1f}%{:>8.2f}\n", drive.name,
                       drive.rate / kMega, human_bytes(drive.room_bytes),
                       human_bytes(outlook.now.drives[d].stored_bytes),
                       human_bytes(then.stored_bytes), then.read_bytes / kMega, 100.0 * share,
                       rate_within(outlook.then, then.read_bytes) / kGiga);
  }
  return out;
}

std::string plan_text(const PlannedPlacement& planned, const std::string& folder) {
  const PlanOutlook& outlook = planned.outlook;
  std::string out = drive_table(outlook);
  out += fmt::format(
      "\nAll drives together: {:.2f} GB/s now, {:.2f} GB/s then, {:.1f} % of what no placement on "
      "them is above.\nDrives that may be lost, whichever they are: {} now, {} then.\n",
      outlook.now.rate() / kGiga, outlook.then.rate() / kGiga,
      outlook.then.bound_seconds > 0.0 ? 100.0 * outlook.then.bound_seconds / outlook.then.seconds
                                       : 100.0,
      outlook.now.survives, outlook.then.survives);
  if (!planned.changes()) return out + "Everything lies so already: there is nothing to do.\n";
  return out + fmt::format(
                   "{} move, for which packs with {} are written anew. Nothing has been moved yet: "
                   "sluice place apply {} does it.\n",
                   human_bytes(outlook.moved_bytes), human_bytes(outlook.write_bytes), folder);
}

Json figures_json(const model::PlacementFigures& figures) {
  return {{"bytes_per_second", figures.rate()},
          {"seconds_per_token", figures.seconds},
          {"read_bytes_per_token", figures.read_bytes},
          {"survives_drives", figures.survives}};
}

Json plan_json(const PlannedPlacement& planned) {
  const PlanOutlook& outlook = planned.outlook;
  Json drives = Json::array();
  for (size_t d = 0; d < outlook.drives.size(); ++d) {
    const model::PlacedDrive& drive = outlook.drives[d];
    Json volumes = Json::array();
    for (const uint32_t v : drive.volumes) volumes.push_back(planned.file.volumes[v].label);
    const auto& now = outlook.now.drives[d];
    const auto& then = outlook.then.drives[d];
    drives.push_back({{"volumes", std::move(volumes)},
                      {"ceiling_bytes_per_second", drive.rate},
                      {"room_bytes", drive.room_bytes},
                      {"now_bytes", now.stored_bytes},
                      {"then_bytes", then.stored_bytes},
                      {"now_read_bytes_per_token", now.read_bytes},
                      {"then_read_bytes_per_token", then.read_bytes},
                      {"then_bytes_per_second", rate_within(outlook.then, then.read_bytes)}});
  }
  return {{"changes", planned.changes()},
          {"drives", std::move(drives)},
          {"now", figures_json(outlook.now)},
          {"then", figures_json(outlook.then)},
          {"bound_bytes_per_second", outlook.then.bound_rate()},
          {"moved_bytes", outlook.moved_bytes},
          {"write_bytes", outlook.write_bytes},
          {"notes", outlook.notes}};
}

class PlacePlanCommand : public Command {
 public:
  std::string name() const override { return "place plan"; }
  std::string summary() const override {
    return "Plans where the pieces of a packed model should lie";
  }
  std::string details() const override {
    return "Takes the drives' speeds, their room, how often each expert is used and how many "
           "drives may be lost, and decides who holds what. What is used most gets second copies "
           "where there is room, never on the drive that has the first. Writes the plan beside the "
           "manifest and changes nothing else; sluice place apply carries it out.";
  }
  void declare(OptionList& options) override;
  int run() override;

 private:
  [[nodiscard]] std::string words() const;

  PlaceSettings settings_;
  UseSettings uses_;
  std::vector<std::string> to_, drain_, rates_, rooms_;
  std::string keep_free_, copies_ = "fill";
  uint32_t survive_ = 0;
  bool separate_ = false;
};

void PlacePlanCommand::declare(OptionList& options) {
  constexpr uint32_t kSurviveMax = 7;
  declare_place_options(options, settings_);
  options.group("Placement");
  options.strings({"to", "NAME=DIR[:BYTES]",
                   "a volume that joins the model: a name of its own, a folder on its own drive, "
                   "and the most that packs may take there; may be given several times"},
                  to_, Completion::kFolder);
  options.strings({"drain", "NAME",
                   "a volume that shall hold nothing any more, also one that is lost while others "
                   "have all it had; may be given several times"},
                  drain_);
  options.number({"survive", "N", "any so many drives may be lost, and the model still answers"},
                 survive_, {0, kSurviveMax});
  options.choice({"copies", "WHICH",
                  "fill: room that is left takes further copies of what is used most; needed: "
                  "nothing has more copies than --survive asks for"},
                 copies_, {"fill", "needed"});
  options.strings({"room", "NAME=BYTES", "the most that packs may take on a volume"}, rooms_);
  options.string({"keep-free", "BYTES", "what stays free on each disk"}, keep_free_);
  options.describe_default("a twentieth of what is free now, at most 20GB");
  declare_use_options(options, uses_);
  declare_drive_options(options, rates_, separate_, "measured");
}

/// As it was asked for, for those who look at the plan later.
std::string PlacePlanCommand::words() const {
  std::string out = name();
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) out += fmt::format(" --{} {}", option, value);
  };
  add("to", to_);
  add("drain", drain_);
  if (survive_ > 0) out += fmt::format(" --survive {}", survive_);
  if (copies_ != "fill") out += " --copies " + copies_;
  add("room", rooms_);
  if (!keep_free_.empty()) out += " --keep-free " + keep_free_;
  add("routes", uses_.routes);
  if (uses_.spine_uses != UseSettings{}.spine_uses) {
    out += fmt::format(" --spine-reads {}", uses_.spine_uses);
  }
  add("rate", rates_);
  if (separate_) out += " --separate";
  return out;
}

int PlacePlanCommand::run() {
  model::PlanRequest request{.model = settings_.folder,
                             .volumes = {settings_.volumes.begin(), settings_.volumes.end()},
                             .targets = parse_targets(to_, {}),
                             .drained = drain_,
                             .rates = parse_rates(rates_),
                             .rooms = parse_rooms(rooms_),
                             .survive = survive_,
                             .spare_copies = copies_ == "fill",
                             .separate = separate_,
                             .uses = uses_.request(),
                             .words = words()};
  if (!keep_free_.empty()) request.keep_free = parse_bytes(keep_free_, "--keep-free");
  const PlannedPlacement planned = model::plan_model_placement(request);
  if (planned.changes()) write_placement_file(settings_.folder, planned.file);
  write_output(settings_.json
                   ? plan_json(planned).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                   : plan_text(planned, settings_.folder));
  for (const std::string& note : planned.outlook.notes) {
    if (!settings_.json) fmt::print(stderr, "note: {}\n", note);
  }
  return kExitOk;
}

}  // namespace

std::unique_ptr<Command> make_place_plan_command() { return std::make_unique<PlacePlanCommand>(); }

}  // namespace sluice::cli
