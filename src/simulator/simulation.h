#pragma once
#include "base/types.h"
#include "engine/statistics.h"
#include "io/sim_drives.h"
#include "model/expert_guess.h"
#include "model/shape.h"
#include "simulator/compute_rates.h"
#include "stream/memory_plan.h"
#include "stream/route_process.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::simulator {

/// A drive as a simulation has it.
struct SimulatedDrive {
  std::string name;
  io::SimDevice device{};
  uint64_t room_bytes = 1'000'000'000'000'000;  ///< For weights.
};

/// A machine, a model on its drives, and a request to it.
struct SimulationOptions {
  std::filesystem::path model;  ///< Headers suffice.
  std::vector<std::filesystem::path> volumes{};
  std::vector<SimulatedDrive> drives;
  /// Read the files of the model as they lie now, each volume on the drive of its name. Else
  /// weights are placed anew on the drives.
  bool as_stored = false;
  uint32_t survive = 0;        ///< Any so many drives may be lost.
  std::vector<double> uses{};  ///< By expert of all layers, of a token; empty: all alike.

  uint64_t memory_bytes = 0;
  uint32_t threads = 1;  ///< That the memory is planned for.
  uint32_t prefill_rows = 0;
  bool hints = true;
  ComputeRates computing{};
  /// 2: BF16, as released. Less: as if the spine took so much memory and time, which the program
  /// cannot do; for comparisons.
  double spine_bytes_per_weight = 2;

  uint32_t context = 0;  ///< 0: what prompt and answer need.
  uint32_t prompt_tokens = 16, tokens = 32;
  const stream::RouteTable* routes = nullptr;  ///< Of the tokens, in order.
  double recall = 0.65;  ///< Of a row's experts, those that a guess finds, in most layers.
  uint64_t seed = 1;     ///< Of drives and guesses.
  /// Tokens done, prompt and answer together; may be empty.
  std::function<void(uint32_t)> on_progress{};
  const std::atomic<bool>* cancel = nullptr;  ///< When it turns true, Error(kCancelled).
};

struct SimulationResult {
  engine::GenerationStats stats{};  ///< In virtual time.
  stream::MemoryPlan plan{};
  std::string memory_table;
  uint64_t spine_bytes = 0, expert_bytes = 0;  ///< Of the model.
  std::vector<uint64_t> stored_bytes{};        ///< By drive; empty when read as stored.
  model::GuessCounts guesses{};
  uint64_t reads_digest = 0;  ///< Differs when any read does, or its time.
};

/// The program itself, from generate() down, with drives and a backend that only let time pass. The
/// same options give the same result on every machine. Throws Error.
[[nodiscard]] SimulationResult simulate(const SimulationOptions& options);

/// A folder with a checkpoint without weights, as long as this lives.
class HollowCheckpoint {
 public:
  /// K3 in that depth and with so many experts. Throws Error(kIo).
  HollowCheckpoint(uint32_t layers, uint32_t experts);
  ~HollowCheckpoint();
  HollowCheckpoint(const HollowCheckpoint&) = delete;
  HollowCheckpoint& operator=(const HollowCheckpoint&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  const std::filesystem::path folder_;
};

/// The shape of the model in a folder. Throws Error.
[[nodiscard]] model::ModelShape read_shape(const std::filesystem::path& folder);

}  // namespace sluice::simulator
