#pragma once
#include "backend/backend.h"
#include "format/checkpoint.h"
#include "format/placement.h"
#include "io/open_drives.h"
#include "model/model.h"
#include "stream/memory_plan.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::model {

enum class BackendKind : uint8_t { kCpu, kReference };

/// How weights are read; the defaults serve all but tests and simulations.
struct ReadingOptions {
  /// Drives for these files, in that order, in place of real ones; may be empty. Reads are then
  /// driven by the calls of the pass and not by a thread, so that simulated drives repeat a
  /// run.
  std::function<std::unique_ptr<io::DriveArray>(std::span<const format::StoredFile>)> make_drives{};
  /// With make_drives: says anew who holds the segments, by the files of those drives; may be
  /// empty.
  std::function<void(const WeightMap&, format::PlacementParts&)> place{};
  uint64_t piece_bytes = format::PlacementParts{}.piece_bytes;  ///< Of what lies in no pack.
  uint64_t bytes_in_flight = stream::StreamerOptions{}.bytes_in_flight;
  stream::HintLimits hint_limits{};
  std::function<void(const stream::StreamerEvent&)> on_event{};  ///< As StreamerOptions'.
};

/// Most rows in one pass when LoadOptions::prefill_rows is 0.
inline constexpr uint32_t kPrefillRowsMax = 512;

struct LoadOptions {
  std::vector<std::filesystem::path> volumes{};  ///< More folders with packs or shards.
  BackendKind backend = BackendKind::kCpu;
  /// Makes a backend that stands in for the one of that kind, whose memory is planned; may be
  /// empty.
  std::function<std::unique_ptr<backend::Backend>(const ModelShape&, stream::WeightStreamer&)>
      make_backend{};
  std::string target{};       ///< Kernel table; empty: the fastest.
  uint32_t threads = 0;       ///< 0: every processor this process may use.
  uint64_t memory_bytes = 0;  ///< The whole budget; 0: measured.
  uint32_t prefill_rows =
      0;  ///< Most rows in one pass; 0: as many as the budget allows, up to kPrefillRowsMax.
  uint32_t context = 4096;    ///< Tokens of one sequence, prompt and answer together.
  uint32_t sequences = 1;     ///< Sequences that will exist at one time.
  uint32_t saved_points = 0;  ///< SequenceState::SavedPoints that will exist at one time.
  uint32_t logits_rows = 1;   ///< Rows of one pass whose logits can be wanted.
  bool logits_of_every_row = false;
  /// Of the budget, what the caller will hold of results until it writes them; may be empty.
  std::function<uint64_t(const ModelShape&)> output_bytes{};
  float mla_norm_epsilon = 1e-6f;
  bool hints = true;      ///< Whether idle drives read what the next layer may need.
  bool direct_io = true;  ///< False: through the page cache.
  io::ReadMethod read_method = io::ReadMethod::kAuto;
  ReadingOptions reading{};
};

/// A checkpoint opened, planned into a memory budget and ready to run: owns everything below Model.
class LoadedModel {
 public:
  /// Opens and plans; reads no large weights. Throws Error; kOutOfMemory names the smallest budget
  /// that works.
  LoadedModel(const std::filesystem::path& folder, const LoadOptions& options);
  ~LoadedModel();  ///< All states that make_state() gave must be gone.
  LoadedModel(LoadedModel&&) noexcept;

  [[nodiscard]] Model& model();
  [[nodiscard]] const ModelShape& shape() const;
  [[nodiscard]] const format::Checkpoint& checkpoint() const;
  [[nodiscard]] stream::WeightStreamer& streamer();
  [[nodiscard]] const WeightMap& weights() const;
  [[nodiscard]] const io::DriveArray& drives() const;
  /// By drive: the folders of its files, for people.
  [[nodiscard]] std::vector<std::string> drive_names() const;
  [[nodiscard]] const stream::MemoryPlan& plan() const;
  [[nodiscard]] std::vector<stream::MemoryUse> memory_uses() const;
  /// What takes how much of the memory, and how weights are read.
  [[nodiscard]] std::string memory_table() const;
  [[nodiscard]] const LoadOptions& options() const;  ///< With the zeros filled in.
  [[nodiscard]] std::unique_ptr<SequenceState> make_state();
  /// Tells this checkpoint from others, also from one of the same shape with other weights: of its
  /// config, the names, sizes and headers of its shards, and all small tensors. Every copy has the
  /// same one; options do not count.
  [[nodiscard]] uint64_t fingerprint() const;
  /// Files of the model that were left out because nothing in them can be used now, and why; all
  /// that is needed lies in others.
  [[nodiscard]] std::span<const std::string> notes() const;
  /// Files that are read through the page cache although direct reads were asked for; empty when
  /// none.
  [[nodiscard]] std::string buffered_files() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Opens and plans without reserving anything: what `inspect` shows.
struct Inspection {
  ModelShape shape;
  uint64_t spine_bytes = 0, expert_bytes = 0, other_bytes = 0, expert_count = 0, tensors = 0;
  stream::MemoryPlan plan;
  std::string memory_table;
  std::string read_method;  ///< How weights would be read, in words.
  std::vector<format::Volume> volumes;
  std::vector<std::string> notes;  ///< What was left out, and what keeps the model from running.
};
[[nodiscard]] Inspection inspect_model(const std::filesystem::path& folder,
                                       const LoadOptions& options);

}  // namespace sluice::model
