#pragma once
#include "base/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::engine {

/// What a measurement computed: each token that was chosen, and a digest of the logits it was
/// chosen from.
struct BenchAnswer {
  std::vector<TokenId> ids{};
  std::vector<uint64_t> logits_digests{};  ///< By token; as digest_of() makes them.
};

/// How `answer` differs from `expected`, in words that name the first position; nothing when they
/// are the same to the bit. The speed of another answer says nothing.
[[nodiscard]] std::optional<std::string> answer_difference(const BenchAnswer& answer,
                                                           const BenchAnswer& expected);

}  // namespace sluice::engine
