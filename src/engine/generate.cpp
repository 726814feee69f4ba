#include "engine/generate.h"

#include "base/check.h"
#include "base/error.h"

#include <numeric>
#include <optional>
#include <utility>

namespace sluice::engine {
namespace {

/// Runs the passes of one Generation and measures them.
class Runner {
 public:
  Runner(model::LoadedModel& loaded, model::SequenceState& state, Generation& generation,
         const GenerateCallbacks& callbacks)
      : loaded_(loaded),
        generation_(generation),
        callbacks_(callbacks),
        every_row_(callbacks.on_logits != nullptr),
        rows_max_(loaded.model().options().rows_max),
        states_(rows_max_, &state),
        row_numbers_(rows_max_),
        logits_(size_t{every_row_ ? rows_max_ : 1} * loaded.shape().vocab) {
    SLUICE_CHECK(!every_row_ || loaded.model().options().logits_rows_max >= rows_max_);
    std::iota(row_numbers_.begin(), row_numbers_.end(), 0u);
  }

  /// One pass over the next rows; false when there are none.
  bool pass(GenerationStats& stats) {
    const std::span<const TokenId> tokens = generation_.next_rows(rows_max_);
    if (tokens.empty()) return false;
    const auto rows = static_cast<uint32_t>(tokens.size());
    const bool prompt = generation_.in_prompt();
    std::span<const uint32_t> wanted(row_numbers_.data(), rows);
    if (!every_row_) wanted = wanted.last(generation_.wants_logits(rows) ? 1 : 0);
    const std::span<float> logits = std::span(logits_).first(wanted.size() * loaded_.shape().vocab);

    const auto before = stream::ReadingCounters::of(loaded_.streamer());
    const Nanos start = loaded_.drives().now();
    loaded_.model().forward({.tokens = tokens,
                             .states = std::span(states_).first(rows),
                             .logits_rows = wanted,
                             .another_follows = generation_.expects_more_after(rows)},
                            logits);
    const Nanos elapsed = loaded_.drives().now() - start;
    PhaseStats& phase = prompt ? stats.prefill : stats.decode;
    phase.add({.tokens = rows,
               .passes = 1,
               .elapsed = elapsed,
               .reading = stream::ReadingCounters::of(loaded_.streamer()).since(before)});
    if (every_row_) callbacks_.on_logits(logits);
    deliver(rows, logits, prompt);
    return true;
  }

 private:
  void deliver(uint32_t rows, std::span<const float> logits, bool prompt) {
    const size_t vocab = loaded_.shape().vocab;
    const std::span<const float> last = logits.empty() ? logits : logits.last(vocab);
    if (callbacks_.on_choice && generation_.wants_logits(rows)) callbacks_.on_choice(last);
    const std::optional<TokenId> token = generation_.advance(rows, last);
    if (prompt && callbacks_.on_prompt_progress) {
      callbacks_.on_prompt_progress(generation_.prompt_rows_run(), generation_.prompt_rows());
    }
    if (prompt && !generation_.in_prompt() && callbacks_.on_prompt_done)
      callbacks_.on_prompt_done();
    if (token && callbacks_.on_token && !callbacks_.on_token(*token)) {
      generation_.finish(FinishReason::kStop);
    }
  }

  model::LoadedModel& loaded_;
  Generation& generation_;
  const GenerateCallbacks& callbacks_;
  const bool every_row_;
  const uint32_t rows_max_;
  std::vector<model::SequenceState*> states_;
  std::vector<uint32_t> row_numbers_;
  std::vector<float> logits_;
};

/// The model looks at the flag while this lives.
class CancelFlag {
 public:
  CancelFlag(model::Model& model, const std::atomic<bool>& cancel) : model_(model) {
    model_.set_cancel_flag(&cancel);
  }
  ~CancelFlag() { model_.set_cancel_flag(nullptr); }
  CancelFlag(const CancelFlag&) = delete;
  CancelFlag& operator=(const CancelFlag&) = delete;

 private:
  model::Model& model_;
};

}  // namespace

GenerateResult generate(model::LoadedModel& loaded, model::SequenceState& state,
                        GenerateRequest request, const GenerateCallbacks& callbacks,
                        const std::atomic<bool>& cancel) {
  Generation generation(std::move(request), state.length(), state.context());
  Runner runner(loaded, state, generation, callbacks);
  GenerateResult result;
  const CancelFlag flag(loaded.model(), cancel);
  try {
    while (runner.pass(result.stats)) {
    }
  } catch (const Error& error) {
    // What was generated before a cancelled pass is still wanted; every other error ends the
    // request.
    if (error.code() != ErrorCode::kCancelled) throw;
    generation.finish(FinishReason::kCancelled);
  }
  result.generated.assign(generation.generated().begin(), generation.generated().end());
  result.reason = generation.reason();
  result.stats.peak_rss_bytes = peak_rss_bytes();
  result.stats.drive_names = loaded.drive_names();
  return result;
}

}  // namespace sluice::engine
