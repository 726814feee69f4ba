#include "engine/bench_spread.h"

#include <algorithm>

namespace sluice::engine {

std::optional<Spread> spread_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const size_t upper = values.size() / 2, lower = (values.size() - 1) / 2;
  return Spread{(values[lower] + values[upper]) / 2, values.front(), values.back()};
}

std::vector<double> paired_ratios(std::span<const double> values, std::span<const double> base) {
  std::vector<double> ratios;
  for (size_t t = 0; t < std::min(values.size(), base.size()); ++t) {
    if (base[t] != 0.0) ratios.push_back(values[t] / base[t]);
  }
  return ratios;
}

}  // namespace sluice::engine
