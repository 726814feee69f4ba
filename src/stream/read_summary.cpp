#include "stream/read_summary.h"

#include "base/check.h"
#include "io/read_bench.h"
#include "stream/reading_counters.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace sluice::stream {
namespace {

constexpr uint32_t kNoLayer = ~uint32_t{0};
// More than any segment has pieces that a hint reads before it is given up.
constexpr size_t kHintReadsMax = 256;
constexpr uint64_t kRoundsLostMax = uint64_t{1} << 20;

uint64_t sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

}  // namespace

uint64_t DriveReads::good_bytes() const { return sum(bytes); }

double DriveReads::rate() const {
  return busy > Nanos{} ? static_cast<double>(good_bytes()) / to_seconds(busy) : 0.0;
}

ReadSummary::ReadSummary(const format::ReadTraceHeader& header)
    : header_(header),
      drives_(header.drives.size(), {.bytes = std::vector<uint64_t>(header.priorities.size()),
                                     .reads = std::vector<uint64_t>(header.outcomes.size())}),
      layers_(header.experts.size(), {.last = std::vector<uint64_t>(header.drives.size())}),
      durations_(header.drives.size()),
      busy_(header.drives.size()),
      barrier_{0, 0, std::vector<Nanos>(header.drives.size(), kNever)} {}

void ReadSummary::add(const format::TraceEvents& events) {
  events.each_list([this](const auto& list) {
    for (const auto& entry : list.entries) add(entry);
    others_lost_ += list.lost;
  });
  others_lost_ -= events.reads.lost;
  reads_lost_ += events.reads.lost;
}

void ReadSummary::cover(Nanos begin, Nanos end) {
  first_ = std::min(first_, begin);
  last_ = std::max(last_, end);
}

CoveredTime::Interval ReadSummary::span() const {
  return first_ > last_ ? CoveredTime::Interval{} : CoveredTime::Interval{first_, last_};
}

void ReadSummary::add(const format::TracedRequest& request) {
  const size_t layer = header_.experts_of(request.first).value();
  cover(request.at, request.at);
  LayerReads& of_layer = layers_[layer];
  ++of_layer.requests;
  of_layer.experts += request.experts;
  of_layer.missed += request.missed;
  of_layer.bytes_missed += request.bytes_missed;
  note_round(request, static_cast<uint32_t>(layer));
}

void ReadSummary::note_round(const format::TracedRequest& request, uint32_t layer) {
  const uint64_t next = first_round_ + layer_of_round_.size();
  // Requests are in order, with a few lost ones between, unless the file is damaged.
  const bool follows =
      !layer_of_round_.empty() && request.round >= next && request.round - next <= kRoundsLostMax;
  if (!follows) {
    layer_of_round_.clear();
    first_round_ = request.round;
  }
  const uint32_t before = follows ? layer_of_round_.back() : kNoLayer;
  if (follows && request.round == next) layers_[before].time += request.at - last_request_;
  if (layer <= before) passes_.push_back(request.at);
  layer_of_round_.resize(request.round - first_round_, kNoLayer);
  layer_of_round_.push_back(layer);
  last_request_ = request.at;
}

void ReadSummary::add(const format::TracedWait& wait) {
  cover(wait.started, wait.started + wait.duration);
  const bool spine = !header_.experts_of(wait.segment);
  ++waiting_.waits;
  (spine ? waiting_.spine : waiting_.experts) += wait.duration;
  if (wait.round < first_round_ || wait.round - first_round_ >= layer_of_round_.size()) return;
  const uint32_t layer = layer_of_round_[wait.round - first_round_];
  if (layer == kNoLayer) return;
  (spine ? layers_[layer].waiting_spine : layers_[layer].waiting_experts) += wait.duration;
}

void ReadSummary::add(const format::TracedRead& read) {
  constexpr auto kGood = static_cast<uint8_t>(ReadOutcome::kGood);
  const Nanos end = read.started + read.duration;
  const uint16_t d = header_.files[read.file.value].drive.value;
  cover(read.started, end);
  ++reads_;
  retries_ += read.retry ? 1 : 0;
  DriveReads& drive = drives_[d];
  ++drive.reads[read.outcome];
  drive.queued_bytes += read.queued_bytes;
  busy_[d].add({read.started, end});
  if (read.priority == static_cast<uint8_t>(Priority::kHint)) note_hint(read, d);
  if (read.outcome != kGood) return;
  drive.bytes[read.priority] += read.bytes;
  durations_[d].push_back(read.duration);
  if (read.priority == static_cast<uint8_t>(Priority::kExpert)) note_expert(read, d);
}

void ReadSummary::note_hint(const format::TracedRead& read, uint16_t drive) {
  std::vector<HintRead>& recent = hint_reads_[read.segment.value];
  if (recent.size() == kHintReadsMax) recent.erase(recent.begin());
  recent.push_back({drive, read.bytes});
  const std::optional<size_t> layer = header_.experts_of(read.segment);
  if (layer) layers_[*layer].bytes_hinted += read.bytes;
}

void ReadSummary::note_expert(const format::TracedRead& read, uint16_t drive) {
  if (read.round != barrier_.round) {
    close(barrier_, drives_, layers_);
    barrier_ = {read.round, header_.experts_of(read.segment).value_or(0),
                std::vector<Nanos>(drives_.size(), kNever)};
  }
  Nanos& last = barrier_.last_end[drive];
  last = std::max(last, read.started + read.duration);
}

void ReadSummary::add(const format::TracedWaste& waste) {
  cover(waste.at, waste.at);
  bytes_wasted_ += waste.bytes;
  const std::optional<size_t> layer = header_.experts_of(waste.segment);
  if (layer) layers_[*layer].bytes_wasted += waste.bytes;
  std::vector<HintRead>& recent = hint_reads_[waste.segment.value];
  uint64_t left = waste.bytes;
  while (left > 0 && !recent.empty()) {
    const uint64_t bytes = std::min(left, recent.back().bytes);
    drives_[recent.back().drive].bytes_wasted += bytes;
    left -= bytes;
    recent.pop_back();
  }
}

void ReadSummary::close(const Barrier& barrier, std::vector<DriveReads>& drives,
                        std::vector<LayerReads>& layers) {
  const auto last = std::ranges::max_element(barrier.last_end);
  if (last == barrier.last_end.end() || *last == kNever) return;
  const auto d = static_cast<size_t>(last - barrier.last_end.begin());
  Nanos other = kNever;
  for (auto end = barrier.last_end.begin(); end != barrier.last_end.end(); ++end) {
    if (end != last) other = std::max(other, *end);
  }
  const Nanos behind = other == kNever ? Nanos{} : *last - other;
  ++drives[d].last;
  drives[d].behind += behind;
  if (barrier.layer >= layers.size()) return;
  ++layers[barrier.layer].last[d];
  layers[barrier.layer].behind += behind;
}

ReadSummary::Closed ReadSummary::closed() const {
  Closed closed{drives_, layers_};
  close(barrier_, closed.drives, closed.layers);
  return closed;
}

uint64_t ReadSummary::barriers() const {
  uint64_t count = 0;
  for (const DriveReads& drive : closed().drives) count += drive.last;
  return count;
}

std::vector<DriveReads> ReadSummary::drives() const {
  std::vector<DriveReads> drives = closed().drives;
  for (size_t d = 0; d < drives.size(); ++d) {
    drives[d].busy = busy_[d].total();
    drives[d].queued_bytes /= std::max<uint64_t>(sum(drives[d].reads), 1);
    drives[d].p50 = io::percentile(durations_[d], 0.50);
    drives[d].p99 = io::percentile(durations_[d], 0.99);
  }
  return drives;
}

std::vector<LayerReads> ReadSummary::layers() const { return closed().layers; }

std::string ReadSummary::disagreement(const format::ReadTraceEnd& end) const {
  uint64_t bytes = 0;
  for (size_t d = 0; d < drives_.size(); ++d) {
    bytes += drives_[d].good_bytes();
    for (size_t p = 0; p < header_.priorities.size(); ++p) {
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
  LayerReads all;
  for (const LayerReads& layer : layers_) {
    all.experts += layer.experts;
    all.missed += layer.missed;
    all.bytes_missed += layer.bytes_missed;
  }
  const std::pair<const char*, uint64_t> sums[] = {
      {"device_bytes", bytes},
      {"waiting_ns", static_cast<uint64_t>(waiting_.all().count())},
      {"hint_bytes_wasted", bytes_wasted_},
      {"expert_hits", all.experts - all.missed},
      {"expert_misses", all.missed},
      {"expert_bytes_missed", all.bytes_missed}};
  for (const auto& [name, value] : sums) {
    const auto counter =
        std::ranges::find(end.counters, name, &format::ReadTraceEnd::Counter::name);
    if (counter == end.counters.end() || counter->value == value) continue;
    return fmt::format("{} comes to {}, but {} was counted", name, value, counter->value);
  }
  return {};
}

}  // namespace sluice::stream
