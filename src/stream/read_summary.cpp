#include "stream/read_summary.h"

#include "stream/reading_counters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace sluice::stream {
namespace {

/// The smallest duration that so large a share of them does not exceed.
Nanos percentile(std::vector<uint64_t> durations, double share) {
  if (durations.empty()) return {};
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(durations.size())));
  const auto at = durations.begin() + static_cast<ptrdiff_t>(rank - 1);
  std::ranges::nth_element(durations, at);
  return Nanos(static_cast<int64_t>(*at));
}

}  // namespace

ReadSummary::ReadSummary(const format::ReadTraceHeader& header)
    : header_(header),
      drives_(header.drives.size(), {.bytes = std::vector<uint64_t>(header.priorities.size()),
                                     .reads = std::vector<uint64_t>(header.outcomes.size())}),
      durations_(header.drives.size()),
      barrier_{0, std::vector<Nanos>(header.drives.size(), kNever)} {}

void ReadSummary::add(const format::ReadBlock& block) {
  constexpr auto kGood = static_cast<uint8_t>(ReadOutcome::kGood);
  constexpr auto kExpert = static_cast<uint8_t>(Priority::kExpert);
  lost_ += block.lost;
  reads_ += block.reads.size();
  for (const format::TracedRead& read : block.reads) {
    const Nanos end = read.started + read.duration;
    const uint16_t d = header_.files[read.file.value].drive.value;
    first_start_ = std::min(first_start_, read.started);
    last_end_ = std::max(last_end_, end);
    retries_ += read.retry ? 1 : 0;
    ++drives_[d].reads[read.outcome];
    if (read.outcome != kGood) continue;
    drives_[d].bytes[read.priority] += read.bytes;
    durations_[d].push_back(static_cast<uint64_t>(read.duration.count()));
    if (read.priority != kExpert) continue;
    if (read.round != barrier_.round) {
      close(barrier_, drives_);
      barrier_ = {read.round, std::vector<Nanos>(drives_.size(), kNever)};
    }
    barrier_.last_end[d] = std::max(barrier_.last_end[d], end);
  }
}

void ReadSummary::close(const Barrier& barrier, std::vector<DriveReads>& drives) {
  const auto last = std::ranges::max_element(barrier.last_end);
  if (last == barrier.last_end.end() || *last == kNever) return;
  DriveReads& drive = drives[static_cast<size_t>(last - barrier.last_end.begin())];
  ++drive.last;
  Nanos other = kNever;
  for (auto end = barrier.last_end.begin(); end != barrier.last_end.end(); ++end) {
    if (end != last) other = std::max(other, *end);
  }
  if (other != kNever) drive.behind += *last - other;
}

uint64_t ReadSummary::barriers() const {
  uint64_t count = 0;
  for (const DriveReads& drive : drives()) count += drive.last;
  return count;
}

std::vector<DriveReads> ReadSummary::drives() const {
  std::vector<DriveReads> drives = drives_;
  close(barrier_, drives);
  for (size_t d = 0; d < drives.size(); ++d) {
    drives[d].p50 = percentile(durations_[d], 0.50);
    drives[d].p99 = percentile(durations_[d], 0.99);
  }
  return drives;
}

std::string ReadSummary::disagreement(const format::ReadTraceEnd& end) const {
  uint64_t bytes = 0;
  for (size_t d = 0; d < drives_.size(); ++d) {
    for (size_t p = 0; p < header_.priorities.size(); ++p) {
      bytes += drives_[d].bytes[p];
      if (drives_[d].bytes[p] == end.drives[d].bytes[p]) continue;
      return fmt::format("{} bytes of {} on {}, but {} were counted", drives_[d].bytes[p],
                         header_.priorities[p], header_.drives[d], end.drives[d].bytes[p]);
    }
    for (size_t o = 0; o < header_.outcomes.size(); ++o) {
      if (drives_[d].reads[o] == end.drives[d].reads[o]) continue;
      return fmt::format("{} reads with outcome {} on {}, but {} were counted", drives_[d].reads[o],
                         header_.outcomes[o], header_.drives[d], end.drives[d].reads[o]);
    }
  }
  for (const auto& [name, value] : end.counters) {
    if (name == "device_bytes" && value != bytes) {
      return fmt::format("{} bytes from all drives, but {} were counted", bytes, value);
    }
  }
  return {};
}

}  // namespace sluice::stream
