#pragma once
#include <optional>
#include <span>
#include <vector>

namespace sluice::engine {

/// Where the values of repeated turns lie.
struct Spread {
  double median = 0, min = 0, max = 0;
  friend bool operator==(const Spread&, const Spread&) = default;
};

/// The median of an even number of values is the mean of the two in the middle. Nothing of no
/// values.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<double> values);

/// values[t] / base[t] for each turn t that both have and whose base is not 0. What drifts from
/// turn to turn, as a shared machine does, cancels.
[[nodiscard]] std::vector<double> paired_ratios(std::span<const double> values,
                                                std::span<const double> base);

}  // namespace sluice::engine
