#include "server/model_facts.h"

#include "format/placement.h"

namespace sluice::server {

uint64_t parameter_count(const model::LoadedModel& loaded) {
  constexpr uint64_t kBf16Bytes = 2;
  const model::WeightMap& weights = loaded.weights();
  const model::ModelShape& shape = loaded.shape();
  uint64_t bf16_bytes = weights.embedding->bytes;
  for (const format::Segment& segment : weights.segments) {
    if (segment.kind == format::SegmentKind::kSpine) bf16_bytes += payload_bytes(segment);
  }
  const uint64_t of_expert = uint64_t{3} * shape.latent * shape.expert_hidden;
  return bf16_bytes / kBf16Bytes + weights.small_floats() + weights.expert_count() * of_expert;
}

}  // namespace sluice::server
