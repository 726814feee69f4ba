#pragma once
#include "io/sim_drives.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::simulation {

/// A checkpoint with random weights that lives as long as this, and its files in memory.
class Checkpoint {
 public:
  Checkpoint();
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// For drives, without a device.
  [[nodiscard]] const std::vector<io::SimFile>& files() const { return files_; }
  /// What an error may call the segments that use a block: "tensor T", "expert E of layer L".
  [[nodiscard]] std::vector<std::string> names_at(DriveId file, uint64_t block) const;

 private:
  std::filesystem::path folder_;
  std::vector<std::vector<std::byte>> contents_;
  std::vector<io::SimFile> files_;
};

/// What a seed makes of the machine: drives of any kind with faults that a second attempt overcomes
/// (errors, short reads, stalls), and how the program is set up.
struct Scenario {
  std::vector<io::SimFile> files;
  io::SimOptions drives;
  double memory_share = 0;  ///< Of what lies between the least budget and one for everything.
  uint32_t prefill_rows = 1;
  uint64_t read_bytes = 0, bytes_in_flight = 0;
  Nanos computing_max{};  ///< That passes at each step of the model.
};
[[nodiscard]] Scenario random_scenario(uint64_t seed, const Checkpoint& checkpoint);

/// Time that the drives may need for the reads of a history at most, one after the other.
[[nodiscard]] Nanos longest_time(const std::vector<io::SimRead>& history, const Scenario& scenario);

}  // namespace sluice::simulation
