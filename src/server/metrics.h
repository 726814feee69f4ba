#pragma once
#include "base/types.h"
#include "server/prometheus_text.h"
#include "server/served_model.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {

/// One choice of a request that has ended, well or not.
struct FinishedRequest {
  std::string_view reason;  ///< stop, length, tool_calls, abort or error.
  uint32_t prompt = 0, generated = 0, max_tokens = 0, choices = 1;  ///< Tokens, and siblings.
  Nanos queued{}, prefill{}, decode{};
  Nanos first_token{}, total{};  ///< From the arrival of the request, by the wall clock.
};

/// What metrics are called that vLLM has too: sluice_prompt_tokens_total, or as vLLM does,
/// vllm:prompt_tokens_total. Prometheus frowns upon colons in names, but dashboards ask for them.
enum class MetricNames : uint8_t { kOurs, kVllm };

/// Counts requests and renders everything that is measured as Prometheus text. Any thread.
class Metrics {
 public:
  Metrics();

  void finished(const FinishedRequest& request);
  /// Between two tokens of a choice.
  void token_gap(Nanos gap);

  /// Prometheus text format 0.0.4: of requests and of the engine.
  [[nodiscard]] std::string text(const ServedModel& model, MetricNames names) const;

 private:
  void requests(PrometheusText& text, std::string_view prefix) const;

  mutable std::mutex mutex_;                  // Guards what follows.
  std::vector<Histogram> histograms_;         // As metrics.cpp lists them.
  std::map<std::string, uint64_t> finished_;  // By reason.
};

}  // namespace sluice::server
