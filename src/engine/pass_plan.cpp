#include "engine/pass_plan.h"

#include <algorithm>

namespace sluice::engine {

std::vector<uint32_t> plan_pass(std::span<const WaitingRows> sequences, uint32_t rows_max) {
  std::vector<uint32_t> rows(sequences.size());
  uint32_t left = rows_max;
  const bool has_prompt = std::ranges::any_of(sequences, &WaitingRows::prompt);
  const uint32_t kept = has_prompt && rows_max > 1 ? 1 : 0;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].prompt || sequences[i].rows == 0 || left <= kept) continue;
    rows[i] = 1;
    --left;
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (!sequences[i].prompt) continue;
    rows[i] = std::min(sequences[i].rows, left);
    left -= rows[i];
  }
  return rows;
}

}  // namespace sluice::engine
