#include "base/digest.h"
#include "base/error.h"
#include "base/types.h"
#include "cli/answer.h"
#include "cli/chat_prompt.h"
#include "cli/command.h"
#include "cli/eval.h"
#include "cli/progress.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sluice::cli {
namespace {

model::LoadedModel open(const EvalSettings& settings, const text::Tokenizer& tokenizer,
                        const EvalNeeds& needs, ReadBuffer& reads) {
  model::LoadOptions options = needs.loading;
  if (settings.model.context != 0 && settings.model.context < needs.context) {
    throw Error(ErrorCode::kInvalidInput,
                "--context is {}, but the longest sequence has up to {} tokens; raise or drop it",
                settings.model.context, needs.context);
  }
  if (settings.model.context == 0) options.context = needs.context;
  constexpr uint32_t kPassRowsMax = 512;  // As --prefill-chunk has it.
  const uint32_t rows =
      std::min(needs.context, options.prefill_rows != 0 ? options.prefill_rows : kPassRowsMax);
  const bool traced = !settings.routes_file.empty();
  options.output_bytes = [held = needs.held_bytes, traced, rows](const model::ModelShape& shape) {
    return held + (traced ? RouteRecorder::bytes(shape, rows) : 0);
  };
  if (!settings.read_trace_file.empty()) reads.attach(options);
  AnswerSettings display;
  display.quiet = settings.quiet;
  model::LoadedModel loaded = open_model(settings.model.folder, options, display);
  check_vocabulary(tokenizer, loaded.shape().vocab, settings.model.folder);
  return loaded;
}

/// In the order in which a difference is told: first what the user can see.
EvalIdentity whole_identity(const EvalSettings& settings, const model::LoadedModel& loaded,
                            EvalNeeds needs) {
  const auto given = [](const std::string& file) { return file.empty() ? "absent" : "given"; };
  EvalIdentity identity = std::move(needs.identity);
  identity.emplace_back("--backend", settings.model.backend);
  identity.emplace_back("--mla-norm-eps", fmt::format("{}", settings.model.mla_norm_epsilon));
  identity.emplace_back("--routes", given(settings.routes_file));
  identity.emplace_back("--output", given(settings.output_file));
  identity.emplace_back("the model's fingerprint", fmt::format("{:016x}", loaded.fingerprint()));
  identity.emplace_back("the digest of the tokens", fmt::format("{:016x}", needs.tokens_digest));
  return identity;
}

}  // namespace

EvalRun::EvalRun(const EvalSettings& settings, const text::Tokenizer& tokenizer, EvalNeeds needs)
    : loaded_(open(settings, tokenizer, needs, read_buffer_)),
      sequence_(loaded_.make_state()),
      progress_file_(settings.progress_file, whole_identity(settings, loaded_, std::move(needs))),
      progress_state_(progress_file_.load()) {
  if (!settings.read_trace_file.empty()) {
    reads_.emplace(loaded_, read_buffer_, settings.read_trace_file);
  }
  if (!settings.routes_file.empty()) {
    routes_.emplace(loaded_, settings.routes_file, progress_state_.routes);
  }
  if (!settings.output_file.empty()) {
    output_.emplace(settings.output_file, progress_state_.output_bytes);
  }
}

model::SequenceState& EvalRun::begin_sequence() {
  if (routes_) routes_->begin_sequence(static_cast<uint32_t>(progress_state_.done));
  sequence_->clear();
  return *sequence_;
}

void EvalRun::begin_answer() {
  if (routes_) routes_->begin_answer();
}

void EvalRun::finish_window(const engine::GenerationStats& stats, double log_probability) {
  progress_state_.log_probability = log_probability;
  finish(stats);
}

void EvalRun::finish_question(const engine::GenerationStats& stats, bool correct,
                              const std::string& line) {
  progress_state_.correct += correct ? '1' : '0';
  if (output_) output_->append(line + "\n");
  finish(stats);
}

void EvalRun::finish(const engine::GenerationStats& stats) {
  progress_state_.done += 1;
  progress_state_.rows += stats.prefill.tokens + stats.decode.tokens;
  progress_state_.seconds += to_seconds(stats.prefill.elapsed + stats.decode.elapsed);
  if (!progress_file_.wanted()) return;
  // The files first: what the progress says must be on the disk.
  if (output_) progress_state_.output_bytes = output_->sync();
  if (routes_) progress_state_.routes = routes_->sync();
  progress_file_.save(progress_state_);
}

void EvalRun::end() {
  if (reads_) reads_->finish();
}

int Evaluation::run(const EvalSettings& settings) {
  {
    const Progress progress(
        {[this] { return progress_text(); }, [this] { return progress_share(); }},
        settings.quiet || finished());
    while (!finished() && step()) {
    }
  }
  write_output(settings.json ? json() : report());
  end();
  return finished() ? kExitOk : kExitCancelled;
}

EvalIdentity input_identity(std::string_view mode, std::string_view file) {
  const uint64_t digest = digest_of(0, std::as_bytes(std::span(file)));
  return {{"what is evaluated", std::string(mode)},
          {"the size of the file", fmt::format("{} bytes", file.size())},
          {"the digest of the file", fmt::format("{:016x}", digest)}};
}

uint64_t digest_of_tokens(uint64_t digest, std::span<const TokenId> tokens) {
  return digest_of(digest, std::as_bytes(tokens));
}

double rows_per_second(const EvalState& state) {
  return state.seconds > 0.0 ? static_cast<double>(state.rows) / state.seconds : 0.0;
}

}  // namespace sluice::cli
