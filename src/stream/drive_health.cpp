#include "stream/drive_health.h"

#include "stream/reading_counters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sluice::stream {
namespace {

// A read stalls when it takes so many times what its drive needs for all that was before it; hosts
// and drives pause for tens of milliseconds now and then.
constexpr double kStallFactor = 8;
constexpr Nanos kStallMin = std::chrono::milliseconds(50);
// A stall is worth a word when it took so long, or the engine waited for so much of the run.
constexpr Nanos kStallLong = std::chrono::milliseconds(500);
constexpr double kStallShare = 0.03;

// A drive is looked at in parts of equal busy time. It throttled when it gave at most kFallen of
// what it gave before, and in each of at least kPartsLeast parts since at most kFallenAll of that,
// and its reads took longer than what was in flight explains: a drive may only be asked for less.
constexpr size_t kParts = 20, kPartsLeast = 3;
constexpr double kFallen = 0.7, kFallenAll = 0.8, kLonger = 1.25;
// Other work makes all drives slower at once; at most so much slower.
constexpr double kWorkChange = 0.5;
// Fewer reads, or a shorter time, do not tell what is usual.
constexpr uint64_t kReadsLeast = 200;
constexpr double kSecondsLeast = 0.5;

constexpr double kLagShare = 0.6, kLagTime = 0.05;
constexpr uint64_t kBarriersLeast = 20;

Nanos nanos(double seconds) { return Nanos(static_cast<int64_t>(seconds * 1e9)); }

/// Some bins together.
struct Stretch {
  double bytes = 0, busy = 0, durations = 0, queued = 0,
         least = std::numeric_limits<double>::infinity();
  template <class Bin>
  void add(const Bin& bin) {
    bytes += bin.bytes;
    busy += bin.busy;
    durations += bin.durations;
    queued += bin.queued;
    least = std::min(least, bin.least);
  }
  [[nodiscard]] double rate() const { return busy > 0 ? bytes / busy : 0; }
  /// How much longer its reads took than they would at an earlier rate and latency, with what was
  /// in flight when they started.
  [[nodiscard]] double longer_than(const Stretch& before) const {
    return durations / (bytes * before.least + queued / before.rate());
  }
};

template <class Bins>
Stretch stretch(const Bins& bins, size_t first, size_t end) {
  Stretch all;
  for (size_t b = first; b < end; ++b) all.add(bins[b]);
  return all;
}

/// The bins at which parts of equal busy time begin, and the end.
template <class Bins>
std::vector<size_t> parts_of(const Bins& bins) {
  const double all = stretch(bins, 0, bins.size()).busy;
  std::vector<size_t> begins = {0};
  double busy = 0;
  for (size_t b = 0; b < bins.size(); ++b) {
    busy += bins[b].busy;
    const double due = all * static_cast<double>(begins.size()) / kParts;
    if (busy >= due && begins.size() < kParts && b + 1 < bins.size()) begins.push_back(b + 1);
  }
  begins.push_back(bins.size());
  return begins;
}

}  // namespace

HealthCheck::HealthCheck(const format::ReadTraceHeader& header, const ReadSummary& summary,
                         std::optional<format::ReadTraceEnd> end)
    : header_(header), span_(summary.span()), barriers_(summary.barriers()), end_(std::move(end)) {
  for (DriveReads& reads : summary.drives()) {
    Drive drive;
    drive.reads = std::move(reads);
    drives_.push_back(std::move(drive));
  }
}

bool HealthCheck::is_stalled(const format::TracedRead& read) const {
  const Drive& drive = drives_[header_.files[read.file.value].drive.value];
  if (read.outcome == static_cast<uint8_t>(ReadOutcome::kNoAnswer)) return true;
  const double rate = drive.reads.rate();
  const double transfer = rate > 0 ? static_cast<double>(read.queued_bytes) / rate : 0;
  const double usual = transfer + to_seconds(drive.reads.p50);
  return read.duration >= std::max(kStallMin, nanos(kStallFactor * usual));
}

double HealthCheck::bin_of(Nanos time) const {
  const double whole = std::max(to_seconds(span_.end - span_.begin), 1e-9);
  return std::clamp(to_seconds(time - span_.begin) / whole, 0.0, 1.0) * kBins;
}

// Gives each bin of a time its share of an amount.
void HealthCheck::spread(CoveredTime::Interval part, Drive& drive, double Bin::* field,
                         double amount) const {
  const double begin = bin_of(part.begin), end = bin_of(part.end);
  const auto first = std::min(static_cast<size_t>(begin), kBins - 1);
  const auto last = std::min(static_cast<size_t>(end), kBins - 1);
  for (size_t b = first; b <= last; ++b) {
    const auto left = static_cast<double>(b);
    const double inside = std::min(end, left + 1) - std::max(begin, left);
    const double share = end > begin ? inside / (end - begin) : 1.0;
    drive.bins[b].*field += amount * share;
  }
}

void HealthCheck::add(const format::TraceEvents& events) {
  for (const format::TracedWait& wait : events.waits.entries) {
    waits_.push_back({wait.started, wait.started + wait.duration});
  }
  for (const format::TracedRead& read : events.reads.entries) {
    Drive& drive = drives_[header_.files[read.file.value].drive.value];
    const CoveredTime::Interval time{read.started, read.started + read.duration};
    const bool good = read.outcome == static_cast<uint8_t>(ReadOutcome::kGood);
    if (!good && read.outcome != static_cast<uint8_t>(ReadOutcome::kNoAnswer)) ++drive.failed;
    if (is_stalled(read)) {
      drive.stalled.add(time);
      const bool expert = read.priority == static_cast<uint8_t>(Priority::kExpert);
      if (expert) drive.late_rounds.push_back(read.round);
    } else if (good) {
      ++drive.good;
      drive.busy.add(time, [&](CoveredTime::Interval bare) {
        spread(bare, drive, &Bin::busy, to_seconds(bare.end - bare.begin));
      });
      spread(time, drive, &Bin::bytes, read.bytes);
      const double bytes = read.bytes, duration = to_seconds(read.duration);
      spread(time, drive, &Bin::durations, bytes * duration);
      spread(time, drive, &Bin::queued, bytes * static_cast<double>(read.queued_bytes));
      Bin& last = drive.bins[std::min(static_cast<size_t>(bin_of(time.end)), kBins - 1)];
      last.least = std::min(last.least, duration);
    }
  }
}

// How the rate of the other drives changed at a moment: their median. 1 when there are none.
double HealthCheck::usual_change(size_t drive, size_t bin) const {
  std::vector<double> changes;
  for (size_t d = 0; d < drives_.size(); ++d) {
    const double before = stretch(drives_[d].bins, 0, bin).rate();
    const double after = stretch(drives_[d].bins, bin, kBins).rate();
    if (d != drive && before > 0 && after > 0) changes.push_back(after / before);
  }
  if (changes.empty()) return 1;
  std::ranges::sort(changes);
  return std::clamp(changes[changes.size() / 2], kWorkChange, 1.0);
}

std::optional<Throttling> HealthCheck::throttling(size_t d) const {
  const Drive& drive = drives_[d];
  if (drive.good < kReadsLeast) return std::nullopt;
  const std::vector<size_t> parts = parts_of(drive.bins);
  std::optional<Throttling> found;
  double deepest = kFallen;
  for (size_t p = 1; p + kPartsLeast < parts.size(); ++p) {
    const Stretch before = stretch(drive.bins, 0, parts[p]);
    const Stretch after = stretch(drive.bins, parts[p], kBins);
    if (before.rate() <= 0 || after.rate() <= 0) continue;
    const double usual = usual_change(d, parts[p]);
    const double change = after.rate() / before.rate() / usual;
    if (change > deepest || after.longer_than(before) < kLonger) continue;
    bool for_good = true;
    for (size_t later = p; later + 1 < parts.size(); ++later) {
      const double rate = stretch(drive.bins, parts[later], parts[later + 1]).rate();
      for_good &= rate <= kFallenAll * usual * before.rate();
    }
    if (!for_good) continue;
    deepest = change;
    const double bin_seconds = to_seconds(span_.end - span_.begin) / kBins;
    found = {.rate_before = before.rate(),
             .rate_after = after.rate(),
             .since = nanos(bin_seconds * static_cast<double>(parts[p]))};
  }
  return found;
}

std::optional<Stalling> HealthCheck::stalling(size_t d) const {
  CoveredTime stalled = drives_[d].stalled;
  Stalling found;
  if (end_) {
    const Nanos oldest = end_->drives[d].oldest;
    const Nanos usual = std::max(drives_[d].reads.p99, kStallMin);
    found.ended = oldest < kStallFactor * usual;
    if (!found.ended) stalled.add({std::max(span_.end - oldest, span_.begin), span_.end});
  }
  for (const auto& [begin, end] : stalled.intervals()) {
    found.longest = std::max(found.longest, end - begin);
  }
  found.times = stalled.intervals().size();
  found.waited = stalled.overlap(waits_);
  std::vector<uint64_t> rounds = drives_[d].late_rounds;
  std::ranges::sort(rounds);
  const auto repeated = std::ranges::unique(rounds);
  found.layers = static_cast<uint64_t>(repeated.begin() - rounds.begin());
  const double share =
      to_seconds(found.waited) / std::max(to_seconds(span_.end - span_.begin), 1e-9);
  const bool matters = found.longest >= kStallLong || share >= kStallShare || !found.ended;
  return found.times > 0 && matters ? std::optional(found) : std::nullopt;
}

std::optional<Lagging> HealthCheck::lagging(size_t d) const {
  const DriveReads& reads = drives_[d].reads;
  if (drives_.size() < 2 || barriers_ < kBarriersLeast) return std::nullopt;
  const Lagging found{
      static_cast<double>(reads.last) / static_cast<double>(barriers_), reads.behind,
      to_seconds(reads.behind) / std::max(to_seconds(span_.end - span_.begin), 1e-9)};
  return found.share >= kLagShare && found.time >= kLagTime ? std::optional(found) : std::nullopt;
}

RunHealth HealthCheck::result() const {
  RunHealth health;
  uint64_t good = 0;
  for (size_t d = 0; d < drives_.size(); ++d) {
    health.drives.push_back(
        {.throttled = throttling(d), .stalling = stalling(d), .failed = drives_[d].failed});
    good += drives_[d].good;
  }
  // Where one throttles or stalls it is behind for that reason, or others do its work.
  const bool steady = std::ranges::none_of(
      health.drives, [](const DriveHealth& drive) { return drive.throttled || drive.stalling; });
  for (size_t d = 0; steady && d < drives_.size(); ++d) health.drives[d].lagging = lagging(d);
  health.long_enough = good >= kReadsLeast && to_seconds(span_.end - span_.begin) >= kSecondsLeast;
  return health;
}

}  // namespace sluice::stream
