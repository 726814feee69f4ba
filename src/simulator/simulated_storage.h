#pragma once
#include "format/placement.h"
#include "format/storage.h"
#include "io/sim_drives.h"
#include "model/weights.h"
#include "simulator/simulation.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice::simulator {

/// The drives of a simulation and what lies on them.
class SimulatedStorage {
 public:
  /// `options` must outlive it.
  explicit SimulatedStorage(const SimulationOptions& options) : options_(options) {}

  /// Puts the segments into a pack on each drive, as `sluice place` would. Throws
  /// Error(kInvalidInput) that says how much room is missing.
  void place(const model::WeightMap& weights, format::PlacementParts& parts);
  /// The drives with those packs, or with the model's files. Throws Error(kInvalidInput) that names
  /// a volume without a drive.
  [[nodiscard]] std::unique_ptr<io::DriveArray> make_drives(
      std::span<const format::StoredFile> files);

  /// By drive; of place().
  [[nodiscard]] const std::vector<uint64_t>& stored_bytes() const { return stored_bytes_; }
  /// Made by make_drives().
  [[nodiscard]] const io::SimDrives& drives() const { return *drives_; }

 private:
  [[nodiscard]] size_t drive_of(const format::Volume& volume) const;

  const SimulationOptions& options_;
  std::vector<uint64_t> stored_bytes_;
  const io::SimDrives* drives_ = nullptr;
};

}  // namespace sluice::simulator
