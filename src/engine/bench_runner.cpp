#include "engine/bench_runner.h"

#include "base/check.h"
#include "base/digest.h"
#include "engine/generate.h"

#include <utility>

namespace sluice::engine {

BenchRunner::BenchRunner(model::LoadedModel& loaded, const BenchInput& input)
    : loaded_(loaded), input_(input), state_(loaded.make_state()) {
  SLUICE_CHECK(!input.text.empty());
  for (const format::Segment& segment : loaded.weights().segments) {
    const uint64_t bytes = payload_bytes(segment);
    if (segment.kind == format::SegmentKind::kSpine) spine_bytes_ += bytes;
    if (segment.kind == format::SegmentKind::kExpert) expert_bytes_ = bytes;
  }
}

bool BenchRunner::warm_up(const BenchSettings& settings) {
  state_->clear();
  return run(text_between(0, warm_up_prompt(settings)), settings.tokens).has_value();
}

std::optional<BenchMeasurement> BenchRunner::measure(const BenchPoint& point) {
  if (point.fill_from == 0) state_->clear();
  SLUICE_CHECK(state_->length() == point.fill_from);
  if (point.phase == BenchPhase::kPrefill) return run(text_between(0, point.tokens), 1);
  if (point.fill_from < point.context && !run(text_between(point.fill_from, point.context), 0)) {
    return std::nullopt;
  }
  // The token of the text that follows runs like one that was generated, alone in its pass.
  return run(text_between(point.context, point.context + 1), point.tokens);
}

std::vector<TokenId> BenchRunner::text_between(uint32_t begin, uint32_t end) const {
  std::vector<TokenId> tokens;
  for (uint32_t i = begin; i < end; ++i) tokens.push_back(input_.text[i % input_.text.size()]);
  return tokens;
}

std::optional<BenchMeasurement> BenchRunner::run(std::vector<TokenId> prompt, uint32_t max_new) {
  BenchMeasurement result;
  GenerateCallbacks callbacks;
  uint32_t prompt_rows = 0;
  const auto tell = [&](uint32_t rows) {
    if (input_.on_rows) input_.on_rows(rows);
  };
  callbacks.on_prompt_progress = [&](uint32_t done, uint32_t) {
    tell(done - std::exchange(prompt_rows, done));
  };
  callbacks.on_choice = [&](std::span<const float> logits) {
    result.answer.logits_digests.push_back(digest_of(0, std::as_bytes(logits)));
  };
  callbacks.on_token = [&](TokenId) {
    // The first token comes of the prompt's last row.
    if (result.answer.logits_digests.size() > 1) tell(1);
    return true;
  };
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_new = max_new;
  GenerateResult generated =
      generate(loaded_, *state_, std::move(request), callbacks, input_.cancel);
  if (generated.reason == FinishReason::kCancelled) return std::nullopt;
  result.answer.ids = std::move(generated.generated);
  result.stats = std::move(generated.stats.prefill);
  result.stats.add(generated.stats.decode);
  result.weight_bytes = weight_bytes(result.stats);
  return result;
}

uint64_t BenchRunner::weight_bytes(const PhaseStats& stats) const {
  const stream::StreamerCounters& c = stats.reading.streamer;
  return stats.passes * spine_bytes_ + (c.expert_hits + c.expert_misses) * expert_bytes_;
}

}  // namespace sluice::engine
