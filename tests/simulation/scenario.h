#pragma once
#include "format/storage.h"
#include "io/sim_drives.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::simulation {

/// A checkpoint with random weights that lives as long as this.
class Checkpoint {
 public:
  Checkpoint();
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// What an error may call the segments that use a block: "tensor T", "expert E of layer L".
  [[nodiscard]] std::vector<std::string> names_at(ShardId shard, uint64_t block) const;

 private:
  const std::filesystem::path folder_;
};

/// Where the weights of a scenario lie.
enum class Layout : uint8_t {
  kInPlace,         ///< The shards, on any drives.
  kStripes,         ///< Packs, striped over three volumes.
  kStripesInPlace,  ///< The same, and the shards.
  kTwoCopies,       ///< Packs, each piece on two of three volumes.
  kShardsTwice,     ///< The shards and a copy of them.
};
inline constexpr size_t kLayouts = 5;

/// The checkpoint in every layout, in folders of its own.
class Layouts {
 public:
  explicit Layouts(const Checkpoint& checkpoint);
  ~Layouts();
  Layouts(const Layouts&) = delete;
  Layouts& operator=(const Layouts&) = delete;

  [[nodiscard]] const std::filesystem::path& model(Layout layout) const {
    return models_[static_cast<size_t>(layout)];
  }
  /// Folders besides the model's own.
  [[nodiscard]] const std::vector<std::filesystem::path>& volumes(Layout layout) const {
    return volumes_[static_cast<size_t>(layout)];
  }

 private:
  const std::filesystem::path folder_;
  std::array<std::filesystem::path, kLayouts> models_;
  std::array<std::vector<std::filesystem::path>, kLayouts> volumes_;
};

/// What a seed makes of the machine, and how the program is set up.
struct Scenario {
  Layout layout = Layout::kInPlace;
  io::SimOptions drives;    ///< A device for each volume; for kInPlace any number.
  double memory_share = 0;  ///< Of what lies between the least budget and one for everything.
  uint32_t prefill_rows = 1;
  uint64_t piece_bytes = 0, bytes_in_flight = 0;
  std::vector<io::SimOutage> outages{};
  Nanos computing_max{};  ///< That passes at each step of the model.
};
/// Drives of any kind with faults that a second attempt overcomes (errors, short reads, stalls),
/// the shards on any of them.
[[nodiscard]] Scenario random_scenario(uint64_t seed);
/// A layout with copies, of which one volume can be lost, and does its worst: nothing that it gives
/// can be trusted, it hangs, dies and comes back. The others are as in random_scenario().
[[nodiscard]] Scenario random_survivable_scenario(uint64_t seed);

/// The device of each file of a model.
[[nodiscard]] std::vector<size_t> devices_of(const Scenario& scenario,
                                             std::span<const format::StoredFile> files);

/// Time that the drives may need for the reads of a history at most, one after the other.
/// `devices`: by file.
[[nodiscard]] Nanos longest_time(const std::vector<io::SimRead>& history, const Scenario& scenario,
                                 const std::vector<size_t>& devices);

}  // namespace sluice::simulation
