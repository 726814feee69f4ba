#pragma once
#include "backend/backend.h"
#include "base/check.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::backend {

/// The router's choice for each row, in the precision Number. scores: [rows, experts], overwritten
/// with their sigmoid; `sigmoid(x, n)` works in place. Chosen are the k largest of sigmoid + bias,
/// ties to the lowest id; weights are the unbiased sigmoids, divided by their sum (in ascending
/// expert id) when asked, times scale.
template <class Number, class Sigmoid>
void route_rows(Number* scores, const Number* bias, uint32_t rows, uint32_t experts,
                const RouteOptions& options, Sigmoid sigmoid, Routes& out) {
  SLUICE_CHECK(options.k >= 1 && options.k <= experts);
  out.rows = rows;
  out.k = options.k;
  out.experts.resize(size_t{rows} * options.k);
  out.weights.resize(size_t{rows} * options.k);
  std::vector<uint32_t> order(experts);
  std::vector<bool> used(experts);
  for (uint32_t r = 0; r < rows; ++r) {
    Number* s = scores + size_t{r} * experts;
    sigmoid(s, experts);
    for (uint32_t e = 0; e < experts; ++e) {
      if (std::isnan(s[e] + bias[e])) {
        throw Error(ErrorCode::kCorrupt,
                    "the router's score of expert {} is not a number: the weights of this layer or "
                    "an earlier "
                    "one are damaged; verify the checkpoint's SHA-256 sums",
                    e);
      }
    }
    for (uint32_t e = 0; e < experts; ++e) order[e] = e;
    std::partial_sort(order.begin(), order.begin() + options.k, order.end(),
                      [&](uint32_t a, uint32_t b) {
                        const Number left = s[a] + bias[a], right = s[b] + bias[b];
                        return left != right ? left > right : a < b;
                      });
    std::sort(order.begin(), order.begin() + options.k);
    Number sum = 0;
    for (uint32_t j = 0; j < options.k; ++j) sum += s[order[j]];
    for (uint32_t j = 0; j < options.k; ++j) {
      Number weight = s[order[j]];
      if (options.renormalize) weight /= sum + static_cast<Number>(1e-20);
      out.experts[size_t{r} * options.k + j] = order[j];
      out.weights[size_t{r} * options.k + j] =
          static_cast<float>(weight * static_cast<Number>(options.scale));
      used[order[j]] = true;
    }
  }
  out.unique.clear();
  for (uint32_t e = 0; e < experts; ++e) {
    if (used[e]) out.unique.push_back(e);
  }
}

}  // namespace sluice::backend
