#pragma once
#include "cli/bench_arms.h"
#include "cli/bench_prompt.h"
#include "cli/bench_report.h"
#include "engine/bench_runner.h"
#include "model/loaded_model.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::cli {

/// The turns of a benchmark: all arms in turn, each on a model that is opened for it.
class BenchRun {
 public:
  /// Plans every arm. `report` has the settings and receives the rest. Throws Error when an arm
  /// cannot run or the prompt cannot be had.
  BenchRun(std::vector<BenchArm> arms, const BenchPromptSettings& prompt, BenchReport& report,
           const std::atomic<bool>& cancel);

  /// Runs to the end, or until it is cancelled. Throws Error as loading and running a model do, and
  /// kCorrupt when a turn of an arm computes something else than the first.
  void run();

  // Progress, for another thread.
  [[nodiscard]] std::string progress_text() const;
  [[nodiscard]] double progress_share() const;

 private:
  [[nodiscard]] model::LoadOptions loading(const BenchArm& arm) const;
  [[nodiscard]] bool run_turn(size_t arm, uint32_t turn);
  void describe_arm(ArmReport& arm, const model::LoadedModel& loaded);
  void compare(uint32_t turn, size_t point, engine::BenchAnswer answer);
  void begin(size_t arm, uint32_t turn, const std::string& what);

  const std::vector<BenchArm> arms_;
  BenchReport& report_;
  const std::vector<engine::BenchPoint> points_;
  std::vector<TokenId> text_;
  engine::BenchInput input_;
  std::vector<engine::BenchAnswer> expected_;  // By point, of the first turn.
  std::atomic<uint64_t> rows_done_{0};
  mutable std::mutex mutex_;  // Guards doing_.
  std::string doing_;
};

}  // namespace sluice::cli
