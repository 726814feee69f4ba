#include "model/segment_uses.h"

#include "base/error.h"
#include "format/route_trace.h"

#include <cstddef>
#include <cstdint>

namespace sluice::model {
namespace {

/// How often the rows of some traces chose each expert of each layer.
class ExpertCounts {
 public:
  explicit ExpertCounts(const PlacedModel& model)
      : model_(model),
        moe_layers_(model.shape.layers - model.shape.dense_layers),
        counts_(size_t{moe_layers_} * model.shape.experts) {}

  void add(const std::filesystem::path& path) {
    format::RouteTraceReader reader(path);
    const format::RouteTraceHeader& header = reader.header();
    if (header.fingerprint != fingerprint_of(model_.checkpoint, model_.weights) ||
        header.moe_layers() != moe_layers_ || header.experts != model_.shape.experts) {
      throw Error(ErrorCode::kInvalidInput,
                  "--routes {}: is a trace of another model; record one of this model with sluice "
                  "eval --routes",
                  path.string());
    }
    format::RoutePass pass;
    while (reader.next(pass)) {
      rows_ += pass.rows.size();
      const size_t slots = pass.rows.size() * header.top_k;
      for (size_t i = 0; i < pass.experts.size(); ++i) {
        ++counts_[i / slots * model_.shape.experts + pass.experts[i]];
      }
    }
  }

  /// Uses by a row. One more row that uses all alike stands for what no trace has shown yet.
  [[nodiscard]] double uses(uint32_t moe_layer, uint32_t expert) const {
    const double alike = double(model_.shape.experts_per_token) / double(model_.shape.experts);
    const auto count =
        static_cast<double>(counts_[size_t{moe_layer} * model_.shape.experts + expert]);
    return (count + alike) / static_cast<double>(rows_ + 1);
  }

 private:
  const PlacedModel& model_;
  const uint32_t moe_layers_;
  std::vector<uint64_t> counts_;  // [moe_layers, experts]
  uint64_t rows_ = 0;
};

}  // namespace

std::vector<double> segment_uses(const PlacedModel& model, const UseRequest& request) {
  ExpertCounts counts(model);
  for (const std::filesystem::path& path : request.routes) counts.add(path);
  std::vector<double> uses(model.layout.segment_count());  // What else a shard has is read once.
  for (const SegmentId panel : model.weights.pass_order) uses[panel.value] = request.spine_uses;
  for (uint32_t l = model.shape.dense_layers; l < model.shape.layers; ++l) {
    const uint32_t first = model.weights.layers[l].moe.first_expert;
    for (uint32_t e = 0; e < model.shape.experts; ++e) {
      uses[first + e] = counts.uses(l - model.shape.dense_layers, e);
    }
  }
  return uses;
}

std::vector<format::PlannedSegment> planned_segments(const PlacedModel& model,
                                                     std::span<const double> uses) {
  std::vector<format::PlannedSegment> segments;
  for (uint16_t s = 0; s < model.manifest.shards.size(); ++s) {
    for (const uint32_t index : model.layout.of_shard({s})) {
      format::PlannedSegment& segment = segments.emplace_back();
      segment.uses = uses[index];
      for (const PackPiece& piece : model.layout.pieces(index, {s}, format::Codec::kRaw)) {
        segment.piece_bytes.push_back(static_cast<uint32_t>(piece.cut.bytes()));
      }
    }
  }
  return segments;
}

}  // namespace sluice::model
