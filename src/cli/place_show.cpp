#include "cli/command.h"
#include "cli/pack_targets.h"
#include "cli/place_options.h"
#include "cli/terminal.h"
#include "model/placement_view.h"
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
using format::PlacementState;
using model::PlacementView;
using stream::human_bytes;

constexpr double kMega = 1e6, kGiga = 1e9;

std::string_view state_name(PlacementState state) {
  switch (state) {
    case PlacementState::kPlanned:
      return "planned";
    case PlacementState::kApplying:
      return "applying";
    case PlacementState::kApplied:
      return "applied";
    case PlacementState::kUndoing:
      return "undoing";
  }
  return {};
}

std::string volume_lines(const PlacementView& view) {
  std::string out = fmt::format("  {:<12}{:<10}{:>9}{:>12}  {}\n", "volume", "state", "pieces",
                                "bytes", "folder");
  for (const PlacementView::Volume& volume : view.volumes) {
    out += fmt::format("  {:<12}{:<10}{:>9}{:>12}  {}\n", volume.label,
                       volume.trouble.empty() ? "present" : "missing", volume.pieces,
                       human_bytes(volume.bytes), volume.folder.string());
  }
  return out;
}

std::string drive_lines(const PlacementView& view) {
  const model::PlacementFigures& figures = view.figures;
  std::string out =
      fmt::format("  {:<12}{:>10}{:>9}{:>12}{:>9}\n", "drive", "MB/token", "share", "MB/s", "GB/s");
  for (size_t d = 0; d < view.drives.size(); ++d) {
    const double read = figures.drives[d].read_bytes;
    const bool known = figures.seconds > 0.0;
    out += fmt::format("  {:<12}{:>10.1f}{:>8.1f}%{:>12}{:>9}\n", view.drives[d].name, read / kMega,
                       figures.read_bytes > 0.0 ? 100.0 * read / figures.read_bytes : 0.0,
                       known ? fmt::format("{:.0f}", view.drives[d].rate / kMega) : "-",
                       known ? fmt::format("{:.2f}", read / figures.seconds / kGiga) : "-");
  }
  return out;
}

std::string copies_text(const std::vector<uint64_t>& bytes) {
  std::vector<std::string> parts;
  for (size_t n = 0; n < bytes.size(); ++n) {
    if (bytes[n] == 0) continue;
    parts.push_back(
        n == 0 ? fmt::format("{} in no pack that is here", human_bytes(bytes[n]))
               : fmt::format("{} on {} drive{}", human_bytes(bytes[n]), n, n == 1 ? "" : "s"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string plan_text(const PlacementView& view, const std::string& folder) {
  if (!view.plan) return "There is no plan.\n";
  const std::string of =
      fmt::format("{} of {} shards lie as planned", view.shards_as_planned, view.shards);
  switch (view.plan->state) {
    case PlacementState::kPlanned:
      return fmt::format("A plan waits ({}): {:.2f} GB/s; sluice place apply {} carries it out.\n",
                         view.plan->request,
                         static_cast<double>(view.plan->after.bytes_per_second) / kGiga, folder);
    case PlacementState::kApplying:
    case PlacementState::kUndoing:
      return fmt::format(
          "A plan is half carried out ({}), {}: sluice place apply {} goes on, "
          "sluice place undo {} takes it back.\n",
          view.plan->request, of, folder, folder);
    case PlacementState::kApplied:
      return fmt::format(
          "The last plan was applied ({}), {}; sluice place undo {} takes it back.\n",
          view.plan->request, of, folder);
  }
  return {};
}

std::string view_text(const PlacementView& view, const std::string& folder) {
  const model::PlacementFigures& figures = view.figures;
  std::string out = volume_lines(view) + "\n" + drive_lines(view);
  out += fmt::format("\nPieces: {}. Drives that may be lost, whichever they are: {}.\n",
                     copies_text(figures.bytes_by_copies), figures.survives);
  if (figures.seconds > 0.0) {
    out += fmt::format(
        "A token that finds nothing in memory reads {:.1f} MB; all drives together give {:.2f} "
        "GB/s.\n",
        figures.read_bytes / kMega, figures.rate() / kGiga);
  } else {
    out += "Speeds are not known: --rate NAME=MB/s gives them, --measure measures.\n";
  }
  return out + plan_text(view, folder);
}

Json view_json(const PlacementView& view) {
  const model::PlacementFigures& figures = view.figures;
  Json volumes = Json::array(), drives = Json::array();
  for (const PlacementView::Volume& volume : view.volumes) {
    volumes.push_back({{"label", volume.label},
                       {"folder", volume.folder.string()},
                       {"state", volume.trouble.empty() ? "present" : "missing"},
                       {"pieces", volume.pieces},
                       {"bytes", volume.bytes}});
  }
  for (size_t d = 0; d < view.drives.size(); ++d) {
    Json labels = Json::array();
    for (const uint32_t v : view.drives[d].volumes) labels.push_back(view.volumes[v].label);
    drives.push_back({{"volumes", std::move(labels)},
                      {"ceiling_bytes_per_second", view.drives[d].rate},
                      {"bytes", figures.drives[d].stored_bytes},
                      {"read_bytes_per_token", figures.drives[d].read_bytes}});
  }
  Json out = {{"volumes", std::move(volumes)},
              {"drives", std::move(drives)},
              {"bytes_by_copies", figures.bytes_by_copies},
              {"survives_drives", figures.survives},
              {"read_bytes_per_token", figures.read_bytes},
              {"bytes_per_second", figures.rate()},
              {"shards", view.shards},
              {"plan", nullptr},
              {"notes", view.notes}};
  if (view.plan) {
    out["plan"] = {{"state", state_name(view.plan->state)},
                   {"request", view.plan->request},
                   {"shards_as_planned", view.shards_as_planned},
                   {"now_bytes_per_second", view.plan->before.bytes_per_second},
                   {"then_bytes_per_second", view.plan->after.bytes_per_second},
                   {"now_survives_drives", view.plan->before.survives},
                   {"then_survives_drives", view.plan->after.survives}};
  }
  return out;
}

class PlaceShowCommand : public Command {
 public:
  std::string name() const override { return "place show"; }
  std::string summary() const override { return "Shows where the pieces of a packed model lie"; }
  std::string details() const override {
    return "What each volume holds, what each drive has to read for a token, how many copies there "
           "are, which loss is survived, and how far the last plan is. Speeds are those of the "
           "last plan unless they are given or measured.";
  }
  void declare(OptionList& options) override {
    declare_place_options(options, settings_);
    declare_use_options(options, uses_);
    declare_drive_options(options, rates_, separate_, "that of the last plan");
    options.flag({"measure", "", "measure the speeds that are not given"}, measure_);
  }
  int run() override {
    const PlacementView view =
        model::view_placement({.model = settings_.folder,
                               .volumes = {settings_.volumes.begin(), settings_.volumes.end()},
                               .uses = uses_.request(),
                               .rates = parse_rates(rates_),
                               .measure = measure_,
                               .separate = separate_});
    write_output(settings_.json
                     ? view_json(view).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                     : view_text(view, settings_.folder));
    for (const std::string& note : view.notes) {
      if (!settings_.json) fmt::print(stderr, "note: {}\n", note);
    }
    return kExitOk;
  }

 private:
  PlaceSettings settings_;
  UseSettings uses_;
  std::vector<std::string> rates_;
  bool separate_ = false, measure_ = false;
};

}  // namespace

std::unique_ptr<Command> make_place_show_command() { return std::make_unique<PlaceShowCommand>(); }

}  // namespace sluice::cli
