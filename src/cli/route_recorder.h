#pragma once
#include "format/route_trace.h"
#include "model/loaded_model.h"

#include <cstdint>
#include <filesystem>

namespace sluice::cli {

/// What a trace of this model says of it. fingerprint: LoadedModel::fingerprint().
[[nodiscard]] format::RouteTraceHeader trace_header(const model::ModelShape& shape,
                                                    uint64_t fingerprint);

/// Writes the routes of every pass to a trace, while it is the model's observer.
class RouteRecorder : public model::ForwardObserver {
 public:
  /// Continues the trace at `mark`. Throws Error as RouteTraceWriter does.
  RouteRecorder(model::LoadedModel& loaded, const std::filesystem::path& path,
                format::RouteTraceMark mark);
  /// Memory that it takes for passes of at most `rows` rows.
  [[nodiscard]] static uint64_t bytes(const model::ModelShape& shape, uint32_t rows);
  ~RouteRecorder() override { model_.set_observer(nullptr); }
  RouteRecorder(const RouteRecorder&) = delete;
  RouteRecorder& operator=(const RouteRecorder&) = delete;

  /// The passes that follow are the prompt of this sequence, then its answer.
  void begin_sequence(uint32_t sequence);
  void begin_answer() { pass_.kind = format::PassKind::kDecode; }
  [[nodiscard]] format::RouteTraceMark sync() { return writer_.sync(); }

  void begin_pass(const model::Batch& batch) override;
  void on_tensor(uint32_t, model::Tap, backend::Tensor) override {}
  void on_routes(uint32_t layer, const backend::Routes& routes) override;
  void end_pass() override { writer_.append(pass_); }

 private:
  model::Model& model_;
  format::RouteTraceWriter writer_;
  format::RoutePass pass_;
  uint32_t sequence_ = 0;
};

}  // namespace sluice::cli
