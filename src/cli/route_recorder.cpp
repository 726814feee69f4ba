#include "cli/route_recorder.h"

#include "base/check.h"

namespace sluice::cli {

format::RouteTraceHeader trace_header(const model::ModelShape& shape, uint64_t fingerprint) {
  return {.layers = shape.layers,
          .first_moe_layer = shape.dense_layers,
          .experts = shape.experts,
          .top_k = shape.experts_per_token,
          .fingerprint = fingerprint};
}

RouteRecorder::RouteRecorder(model::LoadedModel& loaded, const std::filesystem::path& path,
                             format::RouteTraceMark mark)
    : model_(loaded.model()),
      writer_(path, trace_header(loaded.shape(), loaded.fingerprint()), mark) {
  model_.set_observer(this);
}

uint64_t RouteRecorder::bytes(const model::ModelShape& shape, uint32_t rows) {
  // The pass in vectors that may have grown to twice of what they hold, and its record.
  return 3 * format::pass_bytes(trace_header(shape, 0), rows);
}

void RouteRecorder::begin_sequence(uint32_t sequence) {
  sequence_ = sequence;
  pass_.kind = format::PassKind::kPrefill;
}

void RouteRecorder::begin_pass(const model::Batch& batch) {
  pass_.rows.clear();
  pass_.experts.clear();
  pass_.weights.clear();
  uint32_t position = batch.states[0]->length();
  for (size_t row = 0; row < batch.tokens.size(); ++row) {
    SLUICE_CHECK(batch.states[row] == batch.states[0]);
    pass_.rows.push_back({batch.tokens[row], sequence_, position++});
  }
}

void RouteRecorder::on_routes(uint32_t, const backend::Routes& routes) {
  for (const uint32_t expert : routes.experts) {
    pass_.experts.push_back(static_cast<uint16_t>(expert));
  }
  pass_.weights.insert(pass_.weights.end(), routes.weights.begin(), routes.weights.end());
}

}  // namespace sluice::cli
