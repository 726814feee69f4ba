#pragma once
#include "format/placement_file.h"
#include "model/placement_figures.h"
#include "model/segment_uses.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::model {

struct ViewRequest {
  std::filesystem::path model;
  std::vector<std::filesystem::path> volumes{};  ///< More folders with packs of the model.
  UseRequest uses{};
  /// By label, bytes per second. A volume without has the rate of the model's last plan.
  std::map<std::string, double> rates{};
  bool measure = false;   ///< What `rates` does not name.
  bool separate = false;  ///< Each volume is a drive, whatever the system says.
};

/// Where the pieces of a model lie.
struct PlacementView {
  struct Volume {
    std::string label;
    std::filesystem::path folder;
    std::string trouble;  ///< Why it is missing; empty when it is there.
    uint64_t pieces = 0;  ///< That it holds.
    uint64_t bytes = 0;   ///< Of them.
  };
  std::vector<Volume> volumes;
  std::vector<PlacedDrive> drives;  ///< Of the volumes that are there.
  PlacementFigures figures;
  std::optional<format::PlacementFile> plan;
  uint32_t shards = 0;             ///< Of the model.
  uint32_t shards_as_planned = 0;  ///< That lie as after the plan.
  std::vector<std::string> notes;  ///< What was left out.
};

/// Throws Error as PlacedModel and segment_uses() do, and for a label that no volume has.
[[nodiscard]] PlacementView view_placement(const ViewRequest& request);

}  // namespace sluice::model
