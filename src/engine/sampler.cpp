#include "engine/sampler.h"

#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::engine {
namespace {

struct Candidate {
  double value = 0.0;  // Logit over temperature, later the unnormalised probability.
  int32_t id = 0;
};

void check_range(std::string_view option, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorCode::kInvalidInput, "{} is {}; it must be from {} to {}", option, value, low,
              high);
}

/// exp(x) for x <= 0 from additions, multiplications and a power of two, so that every IEEE
/// platform returns the same bits; within 2 units in the last place. Below -700 it is 0: no draw
/// could tell.
double stable_exp(double x) {
  constexpr double kLog2E = 1.4426950408889634;
  // ln 2 in two parts; the first has trailing zeros, so that k * kLn2High is exact.
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  if (x < -700.0) return 0.0;
  const double k = std::floor(x * kLog2E + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  // |r| <= ln(2) / 2, where the 14th term of the series is below 1e-17.
  double sum = 1.0;
  for (int n = 13; n >= 1; --n) sum = 1.0 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of `x`.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A number in [0, 1) that belongs to (seed, position). No state, so nothing depends on the order
/// of draws.
double uniform(uint64_t seed, uint64_t position) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  const uint64_t bits = mix(mix(seed + kStep) + (position + 1) * kStep);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

void check_finite(std::span<const float> logits, uint64_t position) {
  bool any = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity()) {
      throw Error(
          ErrorCode::kCorrupt,
          "the logit of token {} at position {} is {}: the weights are damaged or the activations "
          "overflowed; check the checkpoint's files",
          i, position, logits[i]);
    }
    any = any || std::isfinite(logits[i]);
  }
  if (!any) throw Error(ErrorCode::kCorrupt, "no logit at position {} is finite", position);
}

bool has_penalties(const SamplingOptions& options) {
  return options.repetition_penalty != 1.0 || options.presence_penalty != 0.0 ||
         options.frequency_penalty != 0.0;
}

void apply_penalties(const SamplingOptions& options, const History& history,
                     std::vector<Candidate>& candidates) {
  std::unordered_map<int32_t, uint32_t> answer_counts;  // 0 for tokens that only the prompt has.
  for (const TokenId token : history.prompt) answer_counts.try_emplace(token.value, 0u);
  for (const TokenId token : history.generated) ++answer_counts[token.value];
  for (const auto& [id, count] : answer_counts) {
    if (id < 0 || static_cast<size_t>(id) >= candidates.size()) continue;
    double& value = candidates[static_cast<size_t>(id)].value;
    value = value > 0.0 ? value / options.repetition_penalty : value * options.repetition_penalty;
    if (count > 0) value -= options.presence_penalty + options.frequency_penalty * count;
  }
}

bool better(const Candidate& a, const Candidate& b) {
  return a.value != b.value ? a.value > b.value : a.id < b.id;
}

/// Makes values probabilities relative to the best candidate, which has 1, and drops candidates
/// that are too improbable.
void weigh(const SamplingOptions& options, std::vector<Candidate>& candidates) {
  const double best = std::min_element(candidates.begin(), candidates.end(), better)->value;
  for (Candidate& candidate : candidates) {
    candidate.value = stable_exp((candidate.value - best) / options.temperature);
  }
  std::erase_if(candidates, [&](const Candidate& candidate) {
    return candidate.value <= 0.0 || candidate.value < options.min_p;
  });
}

/// Candidates from the best to the worst. A draw looks at a few of very many, so they are sorted as
/// far as they are looked at: a heap, from whose top they move to the end.
class Descending {
 public:
  explicit Descending(std::vector<Candidate>& candidates)
      : candidates_(candidates), heap_(candidates.size()) {
    std::make_heap(candidates.begin(), candidates.end(), worse);
  }
  const Candidate& operator[](size_t i) {
    while (candidates_.size() - heap_ <= i) {
      std::pop_heap(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(heap_--),
                    worse);
    }
    return candidates_[candidates_.size() - 1 - i];
  }

 private:
  static bool worse(const Candidate& a, const Candidate& b) { return better(b, a); }

  std::vector<Candidate>& candidates_;
  size_t heap_;  // Candidates that are not sorted yet.
};

/// How many of the best hold the share `top_p` of `total`, at least one.
size_t nucleus(Descending& sorted, size_t count, double top_p, double total) {
  double sum = 0.0;
  size_t kept = 0;
  while (kept < count && (kept == 0 || sum < top_p * total)) sum += sorted[kept++].value;
  return kept;
}

double sum_of(Descending& sorted, size_t count) {
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) sum += sorted[i].value;
  return sum;
}

TokenId draw(const SamplingOptions& options, std::vector<Candidate>& candidates, double random) {
  double total = 0.0;  // In order of ids: that needs no sorting.
  for (const Candidate& candidate : candidates) total += candidate.value;
  Descending sorted(candidates);
  size_t count = candidates.size();
  if (options.top_k != 0 && options.top_k < count) {
    count = options.top_k;
    total = sum_of(sorted, count);
  }
  if (options.top_p < 1.0) {
    count = nucleus(sorted, count, options.top_p, total);
    total = sum_of(sorted, count);
  }
  const double target = random * total;
  double sum = 0.0;
  for (size_t i = 0; i + 1 < count; ++i) {
    sum += sorted[i].value;
    if (target < sum) return TokenId{sorted[i].id};
  }
  // `random` < 1, but rounding may leave the sum at or below the target.
  return TokenId{sorted[count - 1].id};
}

}  // namespace

void apply_mask(std::span<const uint64_t> allowed, std::span<float> logits) {
  if (allowed.empty()) return;
  SLUICE_CHECK(allowed.size() * 64 >= logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if ((allowed[i / 64] >> (i % 64) & 1) == 0) logits[i] = -std::numeric_limits<float>::infinity();
  }
}

void check_sampling(const SamplingOptions& options) {
  check_range("temperature", options.temperature, 0.0, 100.0);
  check_range("top-p", options.top_p, 0.0, 1.0);
  check_range("min-p", options.min_p, 0.0, 1.0);
  check_range("repetition-penalty", options.repetition_penalty, 0.01, 100.0);
  check_range("presence-penalty", options.presence_penalty, -100.0, 100.0);
  check_range("frequency-penalty", options.frequency_penalty, -100.0, 100.0);
}

TokenId sample(std::span<const float> logits, const SamplingOptions& options,
               const History& history, uint64_t position) {
  SLUICE_CHECK(!logits.empty());
  check_finite(logits, position);
  const bool greedy = options.temperature <= 0.0;
  if (greedy && !has_penalties(options)) {
    // max_element returns the first of equals.
    return TokenId{static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin())};
  }
  std::vector<Candidate> candidates(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates[i] = {static_cast<double>(logits[i]), static_cast<int32_t>(i)};
  }
  if (has_penalties(options)) apply_penalties(options, history, candidates);
  if (greedy) return TokenId{std::min_element(candidates.begin(), candidates.end(), better)->id};
  weigh(options, candidates);
  return draw(options, candidates, uniform(options.seed, position));
}

}  // namespace sluice::engine
