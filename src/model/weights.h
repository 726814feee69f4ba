#pragma once
#include "backend/backend.h"
#include "format/checkpoint.h"
#include "format/segment.h"
#include "model/shape.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::model {

/// Rows of a spine matrix that travel together.
struct SpinePanel {
  SegmentId segment;
  uint64_t memory_offset = 0;  ///< Of the first row in the segment's memory.
  uint32_t first_row = 0, rows = 0;
};

/// A BF16 matrix of the spine, cut in panels of whole rows.
struct SpineMatrix {
  uint32_t rows = 0, cols = 0;
  std::vector<SpinePanel> panels;
};

/// Small tensors that are always in memory, as the checkpoint has them.
using SmallTensor = std::vector<float>;

struct KdaWeights {
  SpineMatrix q, k, v, f_a, f_b, b, g, o;
  SmallTensor q_conv, k_conv, v_conv;  ///< [P, width]
  SmallTensor dt_bias;                 ///< [P]
  SmallTensor a_log;                   ///< [heads], without the padding of the file.
  SmallTensor o_norm;                  ///< [head_dim]
};

struct MlaWeights {
  SpineMatrix q_a, q_b, kv_a, kv_b, g, o;  ///< kv_b is cut between heads.
  SmallTensor q_a_norm, kv_a_norm;
};

struct GluWeights {
  SpineMatrix gate, up, down;
};

struct MoeWeights {
  SpineMatrix router, latent_down, latent_up;
  GluWeights shared;
  SmallTensor router_bias;    ///< [experts]
  SmallTensor latent_norm;    ///< [latent]
  uint32_t first_expert = 0;  ///< Segment of expert 0; expert e is segment first_expert + e.
};

struct LayerWeights {
  SmallTensor input_norm, post_attention_norm;
  SmallTensor attn_residual, mlp_residual;  ///< [hidden], norm weight times projection.
  KdaWeights kda;                           ///< One of the two is filled.
  MlaWeights mla;
  GluWeights dense;  ///< One of the two is filled.
  MoeWeights moe;
};

/// Where the six tensors of an expert lie in its segment's memory.
struct ExpertPlace {
  std::array<uint32_t, 6>
      offset{};  ///< w1 codes, w1 scales, w2 codes, w2 scales, w3 codes, w3 scales.
};

/// What WeightMap takes as the longest panel: as long as an expert, so that both fit one slot.
/// Packs are cut by it, so another choice would make them useless.
[[nodiscard]] uint64_t panel_bytes_max(const ModelShape& shape);

/// A checkpoint bound to a shape: every tensor of the text model found, checked, and cut into
/// segments. Immutable. Holds the small tensors, and for the rest only where it lies.
class WeightMap {
 public:
  /// `panel_bytes_max`: panels are at most that long (a row, or one head of kv_b, always fits).
  /// Throws Error that names the tensor that is missing, of another shape, or unknown.
  WeightMap(const format::Checkpoint& checkpoint, const ModelShape& shape,
            uint64_t panel_bytes_max);

  std::vector<format::Segment> segments;  ///< Spine panels in pass order, then experts.
  std::vector<SegmentId> pass_order;  ///< The spine panels in the order in which a pass reads them.
  std::vector<LayerWeights> layers;
  SpineMatrix lm_head;
  SmallTensor final_norm, output_residual;
  const format::TensorInfo* embedding =
      nullptr;                             ///< BF16 [vocab, hidden]; rows are read one by one.
  std::vector<ExpertPlace> expert_places;  ///< By segment id minus the first expert's.

  [[nodiscard]] uint32_t expert_count() const {
    return static_cast<uint32_t>(expert_places.size());
  }
  /// Largest segment of a kind, bytes of memory.
  [[nodiscard]] uint64_t segment_bytes_max(format::SegmentKind kind) const;
  /// Floats of all small tensors.
  [[nodiscard]] uint64_t small_floats() const;
  /// Differs when any value of the small tensors does.
  [[nodiscard]] uint64_t small_digest() const;
  [[nodiscard]] backend::ExpertWeights expert(SegmentId id, const std::byte* memory) const;
  /// Throws Error(kCorrupt) that names layer, expert and file when a scale of the expert in
  /// `memory` is 255, which is no number. Kernels rely on that.
  void check_scales(SegmentId id, const std::byte* memory) const;
  /// The tensor that a spine panel is of.
  [[nodiscard]] const std::string& panel_tensor(SegmentId panel) const {
    return panel_tensors_[panel.value];
  }
  /// What a segment is, for messages: a tensor's name, or expert and layer.
  [[nodiscard]] std::string name(SegmentId id) const;

 private:
  friend class Binder;
  [[nodiscard]] std::vector<const SmallTensor*> small_tensors() const;

  std::vector<std::string> panel_tensors_;  // By spine segment.
  std::vector<std::string> files_;          // By drive.
  uint64_t scale_bytes_ = 0;                // Of each matrix of an expert.
};

/// Tells a checkpoint from others, also from one of the same shape with other weights: of its
/// config, the names, sizes and headers of its shards, and all small tensors.
[[nodiscard]] uint64_t fingerprint_of(const format::Checkpoint& checkpoint,
                                      const WeightMap& weights);

}  // namespace sluice::model
