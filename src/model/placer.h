#pragma once
#include "format/placement_file.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::model {

/// Which end of a plan the pieces move to.
enum class PlaceDirection : uint8_t { kApply, kUndo };

struct PlaceRequest {
  std::filesystem::path model;
  std::vector<std::filesystem::path> volumes;  ///< More folders with packs.
  PlaceDirection direction = PlaceDirection::kApply;
};

/// What carrying out a plan will do.
struct PlaceOutlook {
  struct VolumeLine {
    std::string label;
    std::filesystem::path folder;
    uint64_t write_bytes = 0;  ///< Of the pieces of its new packs.
    uint32_t packs = 0;        ///< New ones.
    bool leaves = false;       ///< It will hold nothing, and is no longer part of the model.
  };
  std::vector<VolumeLine> volumes;
  uint32_t shards = 0;       ///< Of the model.
  uint32_t shards_done = 0;  ///< That lie as they shall.
  uint64_t write_bytes = 0;  ///< Of all volumes.
};

/// A shard that lies as it shall.
struct MovedShard {
  std::string name;
  uint64_t stored_bytes = 0;  ///< Of the pieces of its new packs.
  uint32_t packs = 0;         ///< New ones.
};

/// Called while pieces move; each may be empty.
struct PlaceWatch {
  std::function<void(uint64_t bytes)> written;  ///< Bytes of pieces, since the last call.
  std::function<void(const MovedShard&)> moved;
};

/// Carries out the plan of a model or takes it back, one shard after the other. The model can be
/// used at every moment; what is finished stays when the program is killed, and another Placer goes
/// on from there, in either direction. One thread.
class Placer {
 public:
  /// Opens everything and looks for what is in the way; writes nothing. Throws Error that says what
  /// to do: no plan, or nothing of it to do; packs that are not those of the plan; volumes that are
  /// missing; too little room, and where.
  explicit Placer(const PlaceRequest& request);
  ~Placer();
  Placer(const Placer&) = delete;
  Placer& operator=(const Placer&) = delete;

  [[nodiscard]] const PlaceOutlook& outlook() const;
  /// Does it. Throws Error; kCancelled soon after `stop` became true.
  void run(const PlaceWatch& watch, const std::atomic<bool>& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws Error that names the remedy while a plan is half carried out in this model folder.
void refuse_unfinished_placement(const std::filesystem::path& model);

}  // namespace sluice::model
