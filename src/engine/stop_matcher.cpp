#include "engine/stop_matcher.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

namespace sluice::engine {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  if (std::ranges::any_of(stops_, [](const std::string& stop) { return stop.empty(); })) {
    throw Error(ErrorCode::kInvalidInput, "a stop string must not be empty");
  }
}

std::string StopMatcher::push(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    if (stopped_) break;
    held_ += byte;
    // A stop string that ends at this byte lies wholly in held_: without this byte it was a proper
    // prefix.
    size_t match = 0, keep = 0;
    for (const std::string& stop : stops_) {
      if (held_.ends_with(stop)) match = std::max(match, stop.size());
      for (size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
        if (held_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
      }
    }
    stopped_ = match > 0;
    if (stopped_) stop_ = held_.substr(held_.size() - match);
    const size_t settled = held_.size() - (stopped_ ? match : keep);
    out.append(held_, 0, settled);
    held_.erase(0, settled);
  }
  if (stopped_) held_.clear();
  return out;
}

std::string StopMatcher::flush() { return std::exchange(held_, {}); }

}  // namespace sluice::engine
