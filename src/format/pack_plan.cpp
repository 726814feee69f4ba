#include "format/pack_plan.h"

#include "base/check.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice::format {

// Whoever would get more than its room gets its room, and the others share the rest anew. Each
// round fills at least one volume or is the last.
std::vector<double> pack_shares(std::span<const VolumeRoom> volumes, uint64_t bytes,
                                uint32_t copies) {
  SLUICE_CHECK(bytes > 0);
  std::vector<double> most, shares(volumes.size());
  for (const VolumeRoom& volume : volumes) {
    most.push_back(
        std::min(1.0, static_cast<double>(volume.room_bytes) / static_cast<double>(bytes)));
  }
  if (std::accumulate(most.begin(), most.end(), 0.0) < copies) return {};
  std::vector<uint32_t> open(volumes.size());
  std::iota(open.begin(), open.end(), 0u);
  double left = copies;
  while (!open.empty()) {
    double rates = 0.0;
    for (const uint32_t v : open) rates += volumes[v].rate;
    const auto wanted = [&](uint32_t v) {
      return rates > 0.0 ? left * volumes[v].rate / rates : left / static_cast<double>(open.size());
    };
    std::vector<uint32_t> full;
    std::ranges::copy_if(open, std::back_inserter(full),
                         [&](uint32_t v) { return wanted(v) >= most[v]; });
    if (full.empty()) {
      for (const uint32_t v : open) shares[v] = wanted(v);
      break;
    }
    for (const uint32_t v : full) {
      shares[v] = most[v];
      left -= most[v];
      std::erase(open, v);
    }
    left = std::max(left, 0.0);  // Not less by the rounding of a sum.
  }
  return shares;
}

PieceDealer::PieceDealer(std::vector<double> shares, std::vector<uint64_t> room_bytes,
                         uint32_t copies)
    : shares_(std::move(shares)),
      room_bytes_(std::move(room_bytes)),
      copies_(copies),
      got_(shares_.size()) {
  SLUICE_CHECK(shares_.size() == room_bytes_.size());
}

std::span<const uint32_t> PieceDealer::deal(uint64_t bytes) {
  bytes_ += bytes;
  order_.clear();
  for (uint32_t v = 0; v < shares_.size(); ++v) {
    if (got_[v] + bytes <= room_bytes_[v]) order_.push_back(v);
  }
  if (order_.size() < copies_) return {};
  const auto behind = [&](uint32_t v) {
    return shares_[v] * static_cast<double>(bytes_) - static_cast<double>(got_[v]);
  };
  // A volume that shall get nothing is never behind, but it is not ahead at the start either.
  std::ranges::sort(order_, [&](uint32_t a, uint32_t b) {
    return std::tuple(shares_[a] > 0.0, behind(a), b) > std::tuple(shares_[b] > 0.0, behind(b), a);
  });
  chosen_.assign(order_.begin(), order_.begin() + copies_);
  std::ranges::sort(chosen_);
  for (const uint32_t v : chosen_) got_[v] += bytes;
  return chosen_;
}

std::vector<uint64_t> missing_bytes(const PackSteps& steps) {
  // What goes stays until the new packs are there, so both lie on the disk for a moment.
  std::vector<uint64_t> used(steps.free_bytes.size()), returned(used.size()), missing(used.size());
  for (size_t s = 0; s < steps.pack_bytes.size(); ++s) {
    for (size_t v = 0; v < steps.device.size(); ++v) {
      used[steps.device[v]] += steps.pack_bytes[s][v];
    }
    for (size_t d = 0; d < used.size(); ++d) {
      const uint64_t room = steps.free_bytes[d] + returned[d];
      if (used[d] > room) missing[d] = std::max(missing[d], used[d] - room);
      returned[d] += steps.freed_bytes[s][d];
    }
  }
  return missing;
}

}  // namespace sluice::format
