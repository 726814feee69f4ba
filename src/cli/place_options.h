#pragma once
#include "cli/options.h"
#include "model/segment_uses.h"

#include <string>
#include <vector>

namespace sluice::cli {

/// The options of every `sluice place` command.
struct PlaceSettings {
  std::string folder;
  std::vector<std::string> volumes;
  bool json = false;
};
void declare_place_options(OptionList& options, PlaceSettings& settings);

/// What decides how often each part of a model is read.
struct UseSettings {
  std::vector<std::string> routes;
  double spine_uses = model::UseRequest{}.spine_uses;

  [[nodiscard]] model::UseRequest request() const {
    return {.routes = {routes.begin(), routes.end()}, .spine_uses = spine_uses};
  }
};
void declare_use_options(OptionList& options, UseSettings& settings);

/// Declares --rate and --separate. `otherwise`: where rates come from when none is given.
void declare_drive_options(OptionList& options, std::vector<std::string>& rates, bool& separate,
                           std::string otherwise);

}  // namespace sluice::cli
