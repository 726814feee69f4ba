#include "server/metrics.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace sluice::server {
namespace {

using engine::EngineStatus;
using engine::PhaseStats;

// The buckets are vLLM's.
constexpr double kFirstTokenEnds[] = {.001, .005, .01, .02, .04, .06, .08, .1,  .25,  .5,   .75,
                                      1.,   2.5,  5.,  7.5, 10., 20., 40., 80., 160., 640., 2560.};
constexpr double kTokenEnds[] = {.01, .025, .05, .075, .1,  .15, .2,  .3,  .4, .5,
                                 .75, 1.,   2.5, 5.,   7.5, 10., 20., 40., 80.};
constexpr double kRequestEnds[] = {.3,  .5,  .8,  1.,  1.5,  2.,   2.5,  5.,   10.,   15.,  20.,
                                   30., 40., 50., 60., 120., 240., 480., 960., 1920., 7680.};
constexpr double kCountEnds[] = {1.,  2.,  5.,  10., 20., 50., 100., 200., 500., 1e3,
                                 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5,  5e5,  1e6};
constexpr double kChoiceEnds[] = {1., 2., 5., 10., 20.};

struct HistogramKind {
  std::string_view name, help;
  std::span<const double> ends;
};
enum Kind : uint8_t {
  kFirstToken,
  kTokenGap,
  kPerToken,
  kTotal,
  kQueued,
  kPrefill,
  kDecode,
  kInference,
  kPrompt,
  kGenerated,
  kMaxTokens,
  kChoices
};
constexpr HistogramKind kKinds[] = {
    {"time_to_first_token_seconds", "From the arrival of a request to its first token.",
     kFirstTokenEnds},
    {"inter_token_latency_seconds", "Between two tokens of an answer.", kTokenEnds},
    {"request_time_per_output_token_seconds", "Mean time between the tokens of an answer.",
     kTokenEnds},
    {"e2e_request_latency_seconds", "From the arrival of a request to its end.", kRequestEnds},
    {"request_queue_time_seconds", "Waiting to be run.", kRequestEnds},
    {"request_prefill_time_seconds", "Running the prompt.", kRequestEnds},
    {"request_decode_time_seconds", "Generating the answer.", kRequestEnds},
    {"request_inference_time_seconds", "Running the prompt and generating the answer.",
     kRequestEnds},
    {"request_prompt_tokens", "Tokens of a prompt.", kCountEnds},
    {"request_generation_tokens", "Tokens of an answer.", kCountEnds},
    {"request_params_max_tokens", "The most tokens that a request allowed.", kCountEnds},
    {"request_params_n", "Answers that a request asked for.", kChoiceEnds},
};
static_assert(std::size(kKinds) == kChoices + 1);

/// What vLLM measures of an engine.
void engine_text(PrometheusText& text, std::string_view prefix, const EngineStatus& status) {
  const auto named = [&](std::string_view name) { return fmt::format("{}{}", prefix, name); };
  text.gauge(named("num_requests_running"), "Requests that are being answered.");
  text.sample(status.running);
  text.gauge(named("num_requests_waiting"), "Requests that wait for a place.");
  text.sample(status.waiting);
  text.gauge(named("kv_cache_usage_perc"),
             "Tokens that sequences in memory hold, as a share of those that they have room for.");
  text.sample(status.tokens_held / std::max(1.0, static_cast<double>(status.tokens_max)));
  const uint64_t prompts = status.prompt_tokens + status.cached_tokens;
  text.counter(named("prefix_cache_queries_total"), "Tokens of prompts that were looked for.");
  text.sample(prompts);
  text.counter(named("prefix_cache_hits_total"), "Tokens of prompts that need not run again.");
  text.sample(status.cached_tokens);
  text.counter(named("prompt_tokens_total"), "Tokens of prompts, also those that need not run.");
  text.sample(prompts);
  text.counter(named("generation_tokens_total"), "Tokens that were generated.");
  text.sample(status.generated_tokens);
}

/// What a phase has of each name.
struct PhaseFamily {
  std::string_view name, help;
  double (*value)(const PhaseStats& phase);
};
constexpr PhaseFamily kPhaseFamilies[] = {
    {"sluice_phase_tokens_total", "Rows that ran.",
     [](const PhaseStats& phase) { return static_cast<double>(phase.tokens); }},
    {"sluice_phase_passes_total", "Passes through all layers.",
     [](const PhaseStats& phase) { return static_cast<double>(phase.passes); }},
    {"sluice_phase_seconds_total", "Time of passes.",
     [](const PhaseStats& phase) { return to_seconds(phase.elapsed); }},
    {"sluice_phase_waiting_seconds_total", "Of it, waiting for weights.",
     [](const PhaseStats& phase) { return to_seconds(phase.waiting()); }},
};

/// What only we have of it.
void passes_text(PrometheusText& text, const EngineStatus& status) {
  for (const auto& [name, help, value] : kPhaseFamilies) {
    text.counter(name, help);
    text.sample(value(status.prefill), {{"phase", "prefill"}});
    text.sample(value(status.decode), {{"phase", "decode"}});
  }
  text.gauge("sluice_pass_rows", "Rows of the pass under way.");
  text.sample(status.pass_rows);
  text.gauge("sluice_pass_layers_done", "Layers that the pass under way has done.");
  text.sample(status.layers_done);
  text.counter("sluice_requests_refused_total", "Requests that found the queue full.");
  text.sample(status.refused);
}

}  // namespace

Metrics::Metrics() {
  for (const HistogramKind& kind : kKinds) histograms_.emplace_back(kind.ends);
  for (const char* reason : {"stop", "length", "tool_calls", "abort", "error"}) {
    finished_[reason] = 0;
  }
}

void Metrics::finished(const FinishedRequest& request) {
  const std::lock_guard lock(mutex_);
  ++finished_[std::string(request.reason)];
  const auto add = [this](Kind kind, double value) { histograms_[kind].add(value); };
  add(kTotal, to_seconds(request.total));
  add(kQueued, to_seconds(request.queued));
  add(kPrefill, to_seconds(request.prefill));
  add(kDecode, to_seconds(request.decode));
  add(kInference, to_seconds(request.prefill + request.decode));
  add(kPrompt, request.prompt);
  add(kGenerated, request.generated);
  add(kChoices, request.choices);
  if (request.max_tokens > 0) add(kMaxTokens, request.max_tokens);
  if (request.first_token > Nanos{}) add(kFirstToken, to_seconds(request.first_token));
  if (request.generated > 1) add(kPerToken, to_seconds(request.decode) / (request.generated - 1));
}

void Metrics::token_gap(Nanos gap) {
  const std::lock_guard lock(mutex_);
  histograms_[kTokenGap].add(to_seconds(gap));
}

void Metrics::requests(PrometheusText& text, std::string_view prefix) const {
  const std::lock_guard lock(mutex_);
  text.counter(fmt::format("{}request_success_total", prefix), "Answers that have ended.");
  for (const auto& [reason, count] : finished_) text.sample(count, {{"finished_reason", reason}});
  for (size_t kind = 0; kind < histograms_.size(); ++kind) {
    text.histogram(fmt::format("{}{}", prefix, kKinds[kind].name), kKinds[kind].help);
    text.sample(histograms_[kind]);
  }
}

std::string Metrics::text(const ServedModel& model, MetricNames names) const {
  const std::string_view prefix = names == MetricNames::kVllm ? "vllm:" : "sluice_";
  const EngineStatus status = model.engine.status();
  PrometheusText text({{"model_name", model.name}, {"engine", "0"}});
  engine_text(text, prefix, status);
  requests(text, prefix);
  passes_text(text, status);
  return text.take();
}

}  // namespace sluice::server
