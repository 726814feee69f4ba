#include "engine/prefix_choice.h"

#include <algorithm>

namespace sluice::engine {
namespace {

/// The longest beginning of the prompt from which this sequence can be continued.
uint32_t usable(const HeldPrefix& held, std::span<const TokenId> prompt) {
  const uint32_t common = common_prefix(held.tokens, prompt);
  const auto size = static_cast<uint32_t>(prompt.size());
  uint32_t length = 0;
  for (const HeldPoint& point : held.points) {
    const bool enough = point.length < size || point.has_logits;
    if (point.length <= common && enough) length = std::max(length, point.length);
  }
  const bool whole = !held.busy && common == held.tokens.size() && common < size;
  return whole ? std::max(length, common) : length;
}

}  // namespace

uint32_t common_prefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const size_t most = std::min(a.size(), b.size());
  const auto end = std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin());
  return static_cast<uint32_t>(end.first - a.begin());
}

std::optional<PrefixChoice> choose_prefix(std::span<const HeldPrefix> held,
                                          std::span<const TokenId> prompt) {
  PrefixChoice best;
  bool found = false;
  for (size_t i = 0; i < held.size(); ++i) {
    const uint32_t length = usable(held[i], prompt);
    if (length > best.length) best = {.slot = i, .from = i, .length = length};
  }
  const HeldPrefix* const source = best.length > 0 ? &held[best.from] : nullptr;
  if (source != nullptr && !source->busy && source->tokens.size() == best.length) return best;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i].busy || &held[i] == source) continue;
    const HeldPrefix& now = held[best.slot];
    const bool better =
        !found || (held[i].tokens.empty() && !now.tokens.empty()) ||
        (held[i].tokens.empty() == now.tokens.empty() && held[i].last_used < now.last_used);
    if (better) best.slot = i;
    found = true;
  }
  if (!found && source != nullptr && !source->busy) return best;  // It alone is free.
  if (!found) return std::nullopt;
  if (best.length == 0) best.from = best.slot;
  return best;
}

}  // namespace sluice::engine
