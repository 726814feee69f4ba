#include "engine/engine_request.h"

#include "base/error.h"
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice::engine {
namespace {

/// ln of the sum of exponentials, the normaliser of log-probabilities.
double log_sum(std::span<const float> logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return top + std::log(sum);
}

std::vector<TokenLogprob> most_probable(std::span<const float> logits, uint32_t count,
                                        double norm) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](int32_t a, int32_t b) {
    return std::pair(-logits[static_cast<size_t>(a)], a) <
           std::pair(-logits[static_cast<size_t>(b)], b);
  };
  const size_t kept = std::min<size_t>(count, ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(kept), ids.end(), before);
  std::vector<TokenLogprob> top;
  for (const int32_t id : std::span(ids).first(kept)) {
    top.push_back({{id}, static_cast<float>(logits[static_cast<size_t>(id)] - norm)});
  }
  return top;
}

void check_ids(std::span<const TokenId> ids, uint32_t vocab) {
  for (const TokenId id : ids) {
    if (id.value >= 0 && static_cast<uint32_t>(id.value) < vocab) continue;
    throw Error(ErrorCode::kInvalidInput, "token id {} is not in the vocabulary: ids are 0 to {}",
                id.value, vocab - 1);
  }
}

}  // namespace

void check_request(const EngineRequest& request, const model::LoadedModel& loaded) {
  const uint32_t vocab = loaded.shape().vocab;
  const Generation probe(request.generate, 0, loaded.options().context);  // Throws.
  check_ids(request.generate.prompt, vocab);
  for (const auto& [id, bias] : request.logit_bias) check_ids({&id, 1}, vocab);
}

void RunningRequest::begin(uint32_t context) {
  const auto split = prompt.begin() + std::min<ptrdiff_t>(cached, std::ssize(prompt) - 1);
  GenerateRequest rest = wanted.generate;
  rest.earlier.assign(prompt.begin(), split);
  rest.prompt.assign(split, prompt.end());
  generation.emplace(std::move(rest), static_cast<uint32_t>(split - prompt.begin()), context);
}

std::optional<TokenChosen> RunningRequest::choose(uint32_t rows, std::span<const float> logits,
                                                  Nanos now) {
  if (!generation->wants_logits(rows)) {
    generation->advance(rows, {});
    return std::nullopt;
  }
  if (generation->generated().empty()) answering = now;
  std::vector<float> adjusted(logits.begin(), logits.end());
  for (const auto& [token, bias] : wanted.logit_bias) {
    adjusted[static_cast<size_t>(token.value)] += bias;
  }
  if (wanted.guide) apply_mask(wanted.guide->allowed(), adjusted);
  TokenChosen chosen{.token = *generation->advance(rows, adjusted)};
  if (wanted.logprobs) {
    const double norm = log_sum(logits);
    chosen.logprob = static_cast<float>(logits[static_cast<size_t>(chosen.token.value)] - norm);
    chosen.top = most_probable(logits, wanted.top_logprobs, norm);
  }
  if (wanted.guide && !wanted.guide->accept(chosen.token)) generation->finish(FinishReason::kStop);
  return chosen;
}

RequestEnded RunningRequest::ended(FinishReason reason, Nanos now) const {
  RequestEnded end{
      .reason = reason, .prompt = static_cast<uint32_t>(prompt.size()), .cached = cached};
  if (generation) end.generated = static_cast<uint32_t>(generation->generated().size());
  const Nanos began = generation ? started : now;
  const Nanos answered = end.generated > 0 ? answering : now;
  end.queued = began - queued;
  end.prefill = answered - began;
  end.decode = now - answered;
  return end;
}

}  // namespace sluice::engine
