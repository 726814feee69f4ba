#include "format/placement_shares.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace sluice::format {
namespace {

double room_of(const UseCurve& curve, const PlannedDrive& drive) {
  return std::min(static_cast<double>(drive.room_bytes), curve.bytes());
}

std::vector<uint32_t> drives_by(std::span<const double> key) {
  std::vector<uint32_t> order(key.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t d) { return std::pair(key[d], d); });
  return order;
}

// How much of which segments a drive reads: `part` of what is left of the first `whole` ones, and
// as much of `next_bytes` of the one after them.
struct Band {
  double part = 0.0;
  size_t whole = 0;
  double next_bytes = 0.0;
};

// The widest band of so much mass that fits in the room. The wider it is, the lower its mass per
// byte, so it ends where that is what the drive needs.
Band widest_band(const UseCurve& curve, std::span<const double> left, double mass, double room) {
  // Without the rounding of sums, which could end a band among equally used segments.
  const double needed = mass * (1.0 - 1e-9);
  double bytes = 0.0, band_mass = 0.0;
  for (size_t i = 0; i < left.size(); ++i) {
    const double uses = curve.ranked()[i].uses;
    const double next_mass = band_mass + left[i] * uses;
    if (next_mass * room < needed * (bytes + left[i])) {
      const double some = (band_mass * room - needed * bytes) / (needed - uses * room);
      const double next_bytes = std::clamp(some, 0.0, left[i]);
      return {std::min(1.0, room / (bytes + next_bytes)), i, next_bytes};
    }
    bytes += left[i];
    band_mass = next_mass;
  }
  return {band_mass > 0.0 ? std::min(1.0, mass / band_mass) : 0.0, left.size(), 0.0};
}

}  // namespace

UseCurve::UseCurve(std::span<const PlannedSegment> segments) {
  for (uint32_t s = 0; s < segments.size(); ++s) {
    SLUICE_CHECK(std::isfinite(segments[s].uses) && segments[s].uses >= 0.0);
    uint64_t bytes = 0;
    for (const uint32_t piece : segments[s].piece_bytes) bytes += piece;
    ranked_.push_back({s, segments[s].uses, static_cast<double>(bytes)});
  }
  std::ranges::sort(ranked_, {},
                    [](const RankedSegment& s) { return std::pair(-s.uses, s.index); });
  bytes_before_ = mass_before_ = {0.0};
  for (const RankedSegment& segment : ranked_) {
    bytes_before_.push_back(bytes_before_.back() + segment.bytes);
    mass_before_.push_back(mass_before_.back() + segment.bytes * segment.uses);
  }
}

double UseCurve::mass_of_first(double bytes) const {
  const auto after = std::ranges::upper_bound(bytes_before_, bytes);
  if (after == bytes_before_.end()) return mass();
  const auto i = static_cast<size_t>(after - bytes_before_.begin()) - 1;
  return mass_before_[i] + (bytes - bytes_before_[i]) * ranked_[i].uses;
}

// Drives that are set aside leave at least this to the others: all mass, less the most that fits in
// those drives' room. Whoever has the least room for its rate is set aside first, because mass is a
// concave function of room. So with the drives in that order the point (sum of rates, mass of the
// room's first bytes) of each prefix limits its reading, and the times sought are the slopes of the
// greatest convex function that is nowhere above these points.
std::vector<double> least_busy_masses(const UseCurve& curve, std::span<const PlannedDrive> drives) {
  const size_t n = drives.size();
  std::vector<double> room_seconds;
  for (const PlannedDrive& d : drives) room_seconds.push_back(room_of(curve, d) / d.rate);
  const std::vector<uint32_t> order = drives_by(room_seconds);
  std::vector<double> rates = {0.0}, most = {0.0};
  double room = 0.0;
  for (const uint32_t d : order) {
    room += room_of(curve, drives[d]);
    rates.push_back(rates.back() + drives[d].rate);
    most.push_back(curve.mass_of_first(room));
  }

  std::vector<double> masses(n);
  for (size_t end = n; end > 0;) {
    size_t begin = 0;
    double seconds = 0.0;
    for (size_t i = 0; i < end; ++i) {
      const double slope = (most[end] - most[i]) / (rates[end] - rates[i]);
      if (i == 0 || slope > seconds) {
        begin = i;
        seconds = slope;
      }
    }
    for (size_t i = begin; i < end; ++i) masses[order[i]] = seconds * drives[order[i]].rate;
    end = begin;
  }
  return masses;
}

// Whoever needs the most mass per byte of room chooses first. That leaves enough for the others: up
// to the end of its band the rest has the same mass per byte as before, which is more than any of
// them needs, and beyond that end nothing has been taken.
std::vector<double> read_shares(const UseCurve& curve, std::span<const PlannedDrive> drives,
                                std::span<const double> masses) {
  const size_t n = drives.size();
  std::vector<double> room_per_mass, left;
  for (size_t d = 0; d < n; ++d) {
    room_per_mass.push_back(masses[d] > 0.0 ? room_of(curve, drives[d]) / masses[d] : 0.0);
  }
  for (const RankedSegment& segment : curve.ranked()) left.push_back(segment.bytes);
  std::vector<double> shares(curve.ranked().size() * n);
  for (const uint32_t d : drives_by(room_per_mass)) {
    const Band band = widest_band(curve, left, masses[d], room_of(curve, drives[d]));
    const auto take = [&](size_t i, double bytes) {
      if (bytes > 0.0) shares[i * n + d] = bytes / curve.ranked()[i].bytes;
      left[i] -= bytes;
    };
    for (size_t i = 0; i < band.whole; ++i) take(i, band.part * left[i]);
    if (band.whole < left.size()) take(band.whole, band.part * band.next_bytes);
  }
  return shares;
}

}  // namespace sluice::format
