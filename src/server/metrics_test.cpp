// Without this test what is measured of requests could be counted under another name.
#include "server/metrics.h"

#include "server/reply_test_model.h"

#include <chrono>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const std::string kLabels = R"({model_name="nano",engine="0")";

FinishedRequest finished(std::string_view reason) {
  return {.reason = reason,
          .prompt = 12,
          .generated = 5,
          .max_tokens = 16,
          .choices = 2,
          .queued = milliseconds(100),
          .prefill = seconds(2),
          .decode = seconds(4),
          .first_token = milliseconds(2125),
          .total = seconds(7)};
}

TEST(Metrics, FinishedRequestsAreObservedOnceEach) {
  const TestModel model;
  Metrics metrics;
  metrics.finished(finished("stop"));
  metrics.finished(finished("length"));
  metrics.finished({.reason = "abort", .total = milliseconds(50)});
  metrics.token_gap(milliseconds(60));
  const std::string text = metrics.text(model.served, MetricNames::kOurs);
  const std::pair<std::string, std::string> samples[] = {
      {"request_success_total", R"(,finished_reason="stop"} 1)"},
      {"request_success_total", R"(,finished_reason="length"} 1)"},
      {"request_success_total", R"(,finished_reason="abort"} 1)"},
      {"request_success_total", R"(,finished_reason="error"} 0)"},
      {"time_to_first_token_seconds_sum", "} 4.25"},
      {"time_to_first_token_seconds_count", "} 2"},
      {"time_to_first_token_seconds_bucket", R"(,le="1"} 0)"},
      {"time_to_first_token_seconds_bucket", R"(,le="2.5"} 2)"},
      {"inter_token_latency_seconds_sum", "} 0.06"},
      {"request_time_per_output_token_seconds_sum", "} 2"},
      {"request_time_per_output_token_seconds_count", "} 2"},
      {"e2e_request_latency_seconds_sum", "} 14.05"},
      {"request_queue_time_seconds_sum", "} 0.2"},
      {"request_prefill_time_seconds_sum", "} 4"},
      {"request_decode_time_seconds_sum", "} 8"},
      {"request_inference_time_seconds_sum", "} 12"},
      {"request_prompt_tokens_sum", "} 24"},
      {"request_generation_tokens_sum", "} 10"},
      {"request_params_max_tokens_sum", "} 32"},
      {"request_params_max_tokens_count", "} 2"},
      {"request_params_n_sum", "} 5"},
  };
  for (const auto& [name, rest] : samples) {
    EXPECT_THAT(text, HasSubstr("\nsluice_" + name + kLabels + rest + "\n"));
  }
}

TEST(Metrics, TellsWhatTheEngineDid) {
  TestModel model;
  const std::vector<TokenId> prompt = model.tokenizer.encode("Once upon a time");
  std::vector<engine::EngineRequest> requests;
  requests.push_back({.generate = {.prompt = prompt, .max_new = 3}});
  auto ticket = model.engine.submit(std::move(requests));
  while (model.engine.status().ended_by_length == 0) (void)ticket->next(seconds(60));
  const std::string text = Metrics().text(model.served, MetricNames::kOurs);
  const std::string count = std::to_string(prompt.size());
  EXPECT_THAT(text, HasSubstr("\nsluice_prompt_tokens_total" + kLabels + "} " + count + "\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_generation_tokens_total" + kLabels + "} 3\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_num_requests_running" + kLabels + "} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_phase_tokens_total" + kLabels + ",phase=\"prefill\"} " +
                              count + "\n"));
  EXPECT_THAT(text, HasSubstr("\nsluice_phase_passes_total" + kLabels + ",phase=\"decode\"} 2\n"));
}

TEST(Metrics, TakeTheNamesOfVllmWhenAsked) {
  const TestModel model;
  const std::string text = Metrics().text(model.served, MetricNames::kVllm);
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total" +
                              kLabels + "} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nvllm:e2e_request_latency_seconds_count"));
  EXPECT_THAT(text, HasSubstr("\nsluice_phase_seconds_total"));
  EXPECT_THAT(text, Not(HasSubstr("sluice_prompt_tokens_total")));
}

}  // namespace
}  // namespace sluice::server
