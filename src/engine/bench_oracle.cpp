#include "engine/bench_oracle.h"

#include "base/check.h"

#include <algorithm>

#include <fmt/format.h>

namespace sluice::engine {

std::optional<std::string> answer_difference(const BenchAnswer& answer,
                                             const BenchAnswer& expected) {
  SLUICE_CHECK(answer.logits_digests.size() == answer.ids.size());
  SLUICE_CHECK(expected.logits_digests.size() == expected.ids.size());
  const size_t common = std::min(answer.ids.size(), expected.ids.size());
  for (size_t i = 0; i < common; ++i) {
    if (answer.ids[i] != expected.ids[i]) {
      return fmt::format("token {} is {} instead of {}", i + 1, answer.ids[i].value,
                         expected.ids[i].value);
    }
    if (answer.logits_digests[i] != expected.logits_digests[i]) {
      return fmt::format("token {} is {} in both, but was chosen from other logits", i + 1,
                         answer.ids[i].value);
    }
  }
  if (answer.ids.size() == expected.ids.size()) return std::nullopt;
  return fmt::format("there are {} tokens instead of {}", answer.ids.size(), expected.ids.size());
}

}  // namespace sluice::engine
