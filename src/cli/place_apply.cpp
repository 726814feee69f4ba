#include "cli/command.h"
#include "cli/place_options.h"
#include "cli/terminal.h"
#include "cli/work_report.h"
#include "model/placer.h"
#include "stream/memory_plan.h"

#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;
using model::PlaceDirection;
using model::PlaceOutlook;
using stream::human_bytes;

std::string outlook_text(const PlaceOutlook& outlook) {
  std::string out = fmt::format("{} of {} shards are to be moved, {} to be written\n\n",
                                outlook.shards - outlook.shards_done, outlook.shards,
                                human_bytes(outlook.write_bytes));
  out += fmt::format("  {:<12}{:>7}{:>12}  {}\n", "volume", "packs", "written", "folder");
  for (const PlaceOutlook::VolumeLine& v : outlook.volumes) {
    out += fmt::format("  {:<12}{:>7}{:>12}  {}{}\n", v.label, v.packs, human_bytes(v.write_bytes),
                       v.folder.empty() ? "(missing)" : v.folder.string(),
                       v.leaves ? ", leaves the model" : "");
  }
  return out;
}

Json outlook_json(const PlaceOutlook& outlook) {
  Json event = {{"event", "plan"},
                {"shards", outlook.shards},
                {"shards_done", outlook.shards_done},
                {"bytes", outlook.write_bytes},
                {"volumes", Json::array()}};
  for (const PlaceOutlook::VolumeLine& v : outlook.volumes) {
    event["volumes"].push_back({{"label", v.label},
                                {"folder", v.folder.string()},
                                {"bytes", v.write_bytes},
                                {"packs", v.packs},
                                {"leaves", v.leaves}});
  }
  return event;
}

/// Tells how moving goes: lines and a progress display for people, or JSON lines.
class MoveReport {
 public:
  struct Settings {
    bool json = false, quiet = false;
  };
  MoveReport(const PlaceOutlook& outlook, Settings settings)
      : settings_(settings),
        work_({.what = "written",
               .total = outlook.write_bytes,
               .json = settings.json,
               .quiet = settings.quiet}) {
    if (settings.json) {
      emit(outlook_json(outlook));
    } else if (!settings.quiet) {
      write_output(outlook_text(outlook));
    }
  }

  model::PlaceWatch watch() {
    return {.written = [this](uint64_t bytes) { work_.advance(bytes); },
            .moved = [this](const model::MovedShard& shard) { add(shard); }};
  }

  /// `model`: its folder.
  void finish(PlaceDirection direction, const std::string& model) {
    work_.stop();
    if (settings_.json) {
      emit({{"event", "done"},
            {"shards", shards_},
            {"bytes", work_.done()},
            {"packs", packs_},
            {"seconds", work_.seconds()}});
    } else if (!settings_.quiet) {
      write_output(fmt::format(
          "\nwrote {} packs, {}, in {}; each was read back, and every piece is where it shall "
          "be\n{}",
          packs_, human_bytes(work_.done()), format_duration(work_.seconds()),
          direction == PlaceDirection::kApply
              ? fmt::format("sluice place undo {} would take it back\n", model)
              : "everything lies as before the plan\n"));
    }
  }

 private:
  void add(const model::MovedShard& shard) {
    ++shards_;
    packs_ += shard.packs;
    if (!settings_.json) return;
    emit({{"event", "moved"},
          {"shard", shard.name},
          {"packs", shard.packs},
          {"stored_bytes", shard.stored_bytes},
          {"seconds", work_.seconds()}});
  }

  static void emit(const Json& event) {
    write_output(event.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  const Settings settings_;
  uint32_t shards_ = 0, packs_ = 0;
  WorkReport work_;
};

class PlaceMoveCommand : public Command {
 public:
  explicit PlaceMoveCommand(PlaceDirection direction) : direction_(direction) {}

  std::string name() const override {
    return direction_ == PlaceDirection::kApply ? "place apply" : "place undo";
  }
  std::string summary() const override {
    return direction_ == PlaceDirection::kApply ? "Moves the pieces of a model as planned"
                                                : "Moves the pieces back to where they were";
  }
  std::string details() const override {
    constexpr const char* kAlways =
        "One shard after the other gets new packs, each of which is read back before the old ones "
        "are deleted, so the model answers at every moment, and needs room for one shard more. A "
        "run that was stopped or killed goes on when it is started again. ";
    return direction_ == PlaceDirection::kApply
               ? fmt::format(
                     "Carries out the plan of sluice place plan. {}sluice place undo takes "
                     "it back, also one that was carried out only in part.",
                     kAlways)
               : fmt::format(
                     "Takes back what sluice place apply did, also when it was stopped "
                     "half-way. {}",
                     kAlways);
  }
  void declare(OptionList& options) override {
    declare_place_options(options, settings_);
    options.flag({"quiet", "", "show no progress"}, quiet_);
  }
  int run() override {
    model::Placer placer({.model = settings_.folder,
                          .volumes = {settings_.volumes.begin(), settings_.volumes.end()},
                          .direction = direction_});
    const InterruptGuard interrupt;
    MoveReport report(placer.outlook(), {.json = settings_.json, .quiet = quiet_});
    placer.run(report.watch(), interrupt.flag());
    report.finish(direction_, settings_.folder);
    return kExitOk;
  }

 private:
  const PlaceDirection direction_;
  PlaceSettings settings_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_place_apply_command() {
  return std::make_unique<PlaceMoveCommand>(PlaceDirection::kApply);
}
std::unique_ptr<Command> make_place_undo_command() {
  return std::make_unique<PlaceMoveCommand>(PlaceDirection::kUndo);
}

}  // namespace sluice::cli
