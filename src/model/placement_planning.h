#pragma once
#include "format/placement_file.h"
#include "model/pack_volumes.h"
#include "model/placement_figures.h"
#include "model/segment_uses.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::model {

/// What a placement shall be like.
struct PlanRequest {
  std::filesystem::path model;
  std::vector<std::filesystem::path> volumes{};  ///< More folders with packs of the model.
  /// Volumes that join it. One that it has already only gets the limit.
  std::vector<PackTarget> targets{};
  std::vector<std::string> drained{};       ///< Labels of volumes that shall hold nothing.
  std::map<std::string, double> rates{};    ///< By label, bytes per second; measured when absent.
  std::map<std::string, uint64_t> rooms{};  ///< By label: the most that packs may take.
  /// What each disk shall have free afterwards; absent: a twentieth of what is free now, at most 20
  /// GB.
  std::optional<uint64_t> keep_free{};
  uint32_t survive = 0;  ///< Any so many drives may be lost, and the model still answers.
  /// Fill the room with further copies of what is used most.
  bool spare_copies = true;
  bool separate = false;  ///< Each volume is a drive, whatever the system says.
  UseRequest uses{};
  std::string words{};  ///< All of this as it was asked for.
};

/// What a plan comes to.
struct PlanOutlook {
  std::vector<PlacedDrive> drives;
  PlacementFigures now, then;  ///< With these drives.
  uint64_t moved_bytes = 0;    ///< Of pieces that come to a volume which has not held them.
  uint64_t write_bytes = 0;    ///< Of the pieces of all packs that are written anew.
  std::vector<std::string> notes;
};

struct PlannedPlacement {
  format::PlacementFile file;
  PlanOutlook outlook;
  /// Whether anything would move.
  [[nodiscard]] bool changes() const { return file.before.holders != file.after.holders; }
};

/// Opens, measures and plans; writes nothing that stays. Throws Error that says what is in the way
/// and what to do, above all how much room is missing where.
[[nodiscard]] PlannedPlacement plan_model_placement(const PlanRequest& request);

}  // namespace sluice::model
