#pragma once
#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sluice::engine {

/// A length at which a sequence was saved.
struct HeldPoint {
  uint32_t length = 0;
  bool has_logits = false;  ///< Those that follow it are there too.
};

/// A sequence in memory. K3's recurrent state cannot be rewound, so it can be continued only from
/// points and, while nobody uses it, from its end.
struct HeldPrefix {
  std::span<const TokenId> tokens{};  ///< That have run.
  std::vector<HeldPoint> points{};
  bool busy = false;  ///< A request goes on with it; points can be copied all the same.
  uint64_t last_used = 0;
};

/// Where a new prompt begins.
struct PrefixChoice {
  size_t slot = 0;      ///< That the request gets; not busy.
  size_t from = 0;      ///< Whose beginning it takes over; `slot` itself when no copy is needed.
  uint32_t length = 0;  ///< Tokens taken over; 0: none.
  friend bool operator==(const PrefixChoice&, const PrefixChoice&) = default;
};

/// The slot for a prompt: the longest beginning of it that is held, in place when that loses
/// nothing of the sequence, else as a copy in a slot that is empty or was used longest ago. The
/// last token of a prompt must run, unless the logits that follow it are held. Nothing when all
/// slots are busy. Pure.
[[nodiscard]] std::optional<PrefixChoice> choose_prefix(std::span<const HeldPrefix> held,
                                                        std::span<const TokenId> prompt);

/// How many tokens at their start both have in common.
[[nodiscard]] uint32_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b);

}  // namespace sluice::engine
