#pragma once
#include "backend/backend.h"
#include "base/types.h"
#include "model/embedding.h"
#include "model/expert_guess.h"
#include "model/sequence_state.h"
#include "model/shape.h"
#include "model/weights.h"
#include "stream/spine_reader.h"
#include "stream/weight_streamer.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::model {

/// Rows to run in one pass. Row i is a token of states[i]; rows of one sequence are consecutive and
/// in order.
struct Batch {
  std::span<const TokenId> tokens;
  std::span<SequenceState* const> states;
  std::span<const uint32_t> logits_rows;  ///< The rows whose logits are wanted, ascending.
  bool another_follows = false;  ///< Another pass comes at once: weights may be read ahead into it.
};

/// The places of a forward pass at which an observer looks, named as in the golden files.
enum class Tap : uint8_t { kAttnIn, kAttnOut, kMlpIn, kMlpOut, kPrefix, kFinalIn, kFinalNorm };
[[nodiscard]] std::string_view tap_name(Tap tap);

/// Sees the intermediate values of a forward pass, and may overwrite them (tests feed golden inputs
/// that way). Called by the thread that runs the pass.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;
  /// The pass starts: the states are as they were before it.
  virtual void begin_pass(const Batch& /*batch*/) {}
  /// tensor: [rows, hidden]. `layer` has no meaning for kFinalIn and kFinalNorm.
  virtual void on_tensor(uint32_t layer, Tap tap, backend::Tensor tensor) = 0;
  virtual void on_routes(uint32_t layer, const backend::Routes& routes) = 0;
  /// The pass has run to its end. Not called for one that an exception ended.
  virtual void end_pass() {}
};

struct ModelOptions {
  uint32_t rows_max = 1;         ///< Most rows in one pass.
  uint32_t logits_rows_max = 1;  ///< Most rows of logits in one pass.
  bool hints = false;            ///< Guess the experts of the next layer and hint them.
  stream::HintLimits hint_limits{};
  bool check_scales = true;  ///< Of each expert, when it is used first.
};

/// Kimi K3's forward pass over one backend and one source of weights. Everything it needs is
/// reserved by the constructor. One thread calls it.
class Model {
 public:
  /// All references must outlive the model.
  Model(const ModelShape& shape, const WeightMap& weights, EmbeddingTable& embedding,
        stream::WeightStreamer& streamer, stream::SpineReader& spine, backend::Backend& backend,
        ModelOptions options);
  ~Model();

  /// Runs the rows through all layers. logits: [logits_rows.size(), vocab]. Throws
  /// Error(kInvalidInput) when a token is not in the vocabulary, a sequence would pass its context
  /// or was interrupted, before anything changes. Throws Error(kIo) when weights cannot be read,
  /// kCorrupt when they are damaged, kCancelled: the states of the batch are then interrupted, and
  /// the model is ready for another pass.
  void forward(const Batch& batch, std::span<float> logits);

  void set_observer(ForwardObserver* observer) { observer_ = observer; }
  /// Checked between layers; when it turns true the pass ends with Error(kCancelled).
  void set_cancel_flag(const std::atomic<bool>* cancel) { cancel_ = cancel; }
  [[nodiscard]] const ModelShape& shape() const { return shape_; }
  [[nodiscard]] backend::Backend& backend() { return backend_; }
  [[nodiscard]] const ModelOptions& options() const { return options_; }

  /// Bytes that the constructor reserves in the backend: activations and small tensors.
  [[nodiscard]] static uint64_t scratch_bytes(const ModelShape& shape, uint32_t element_bytes,
                                              ModelOptions options);
  /// Progress of the pass under way, for display from another thread: layers done.
  [[nodiscard]] uint32_t layers_done() const { return layers_done_; }
  /// Nothing without ModelOptions::hints. For the thread that runs the passes.
  [[nodiscard]] const ExpertGuess* guess() const { return guess_.get(); }

 private:
  struct Layer;    // Small tensors of one layer in the backend's memory.
  struct Scratch;  // Activations.

  void check(const Batch& batch) const;
  void run_layer(uint32_t layer, const Batch& batch);
  void matmul(backend::Tensor x, const SpineMatrix& matrix, backend::Tensor y);
  void attention_kda(uint32_t layer, const Batch& batch, backend::Tensor x, backend::Tensor out);
  void attention_mla(uint32_t layer, const Batch& batch, backend::Tensor x, backend::Tensor out);
  void mlp(const GluWeights& weights, uint32_t width, backend::Tensor x, backend::Tensor out);
  void moe(uint32_t layer, backend::Tensor x, backend::Tensor out);
  void guess_experts(uint32_t layer, backend::Tensor scores);
  void experts(uint32_t layer, backend::Tensor latent, stream::SegmentBatch arriving,
               backend::Tensor slots);
  void logits(const Batch& batch, std::span<float> out);
  void observe(uint32_t layer, Tap tap, backend::Tensor tensor);

  const ModelShape& shape_;
  const WeightMap& weights_;
  EmbeddingTable& embedding_;
  stream::WeightStreamer& streamer_;
  stream::SpineReader& spine_;
  backend::Backend& backend_;
  const ModelOptions options_;
  ForwardObserver* observer_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  std::atomic<uint32_t> layers_done_{0};
  std::vector<bool> scales_checked_;  // By expert segment, counted from the first.
  std::vector<Layer> layers_;
  std::unique_ptr<Scratch> scratch_;
  std::unique_ptr<ExpertGuess> guess_;
};

}  // namespace sluice::model
