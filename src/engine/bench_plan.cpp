#include "engine/bench_plan.h"

#include <algorithm>
#include <numeric>

namespace sluice::engine {

std::vector<BenchPoint> bench_points(const BenchSettings& settings) {
  std::vector<BenchPoint> points;
  uint32_t length = 0;  // Of the sequence after the point before.
  for (const uint32_t tokens : settings.prompt_tokens) {
    if (tokens == 0) continue;
    points.push_back({.phase = BenchPhase::kPrefill, .tokens = tokens});
    length = tokens;
  }
  if (settings.tokens == 0) return points;
  for (const uint32_t context : settings.contexts) {
    // Filling a long context may take longer than all that is measured, so it goes on from a
    // shorter one.
    const bool goes_on = !settings.cold && length <= context;
    points.push_back({.phase = BenchPhase::kDecode,
                      .context = context,
                      .tokens = settings.tokens,
                      .fill_from = goes_on ? length : 0});
    length = context + settings.tokens;
  }
  return points;
}

uint32_t bench_context(const BenchSettings& settings) {
  uint32_t rows = warm_up_prompt(settings) + settings.tokens;
  for (const BenchPoint& point : bench_points(settings)) {
    rows = std::max(rows, point.context + point.tokens);
  }
  return rows + 1;
}

uint32_t warm_up_prompt(const BenchSettings& settings) {
  const auto first = std::ranges::find_if(settings.prompt_tokens, [](uint32_t n) { return n > 0; });
  return first == settings.prompt_tokens.end() ? 1 : *first;
}

uint64_t rows_of_turn(const BenchSettings& settings) {
  // The last token of an answer is chosen, but does not run.
  const uint32_t answered = std::max(settings.tokens, 1u) - 1;
  uint64_t rows = settings.cold ? 0 : uint64_t{warm_up_prompt(settings)} + answered;
  for (const BenchPoint& point : bench_points(settings)) {
    rows += uint64_t{point.context} - point.fill_from + point.tokens;
  }
  return rows;
}

std::vector<size_t> arm_order(size_t arms, uint32_t turn) {
  std::vector<size_t> order(arms);
  std::iota(order.begin(), order.end(), size_t{0});
  if (turn % 2 == 1) std::ranges::reverse(order);
  return order;
}

}  // namespace sluice::engine
