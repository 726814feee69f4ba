#include "server/read_watch.h"

#include "base/check.h"

#include <algorithm>
#include <variant>

namespace sluice::server {

void ReadWatch::begin(const Layout& layout) {
  const std::lock_guard lock(mutex_);
  layout_ = layout;
  drives_.assign(layout.drives, {});
  layers_.assign(layout.layers, {});
  waiting_spine_ = {};
  barrier_ = {};
}

void ReadWatch::take(const stream::StreamerEvent& event) {
  const std::lock_guard lock(mutex_);
  if (drives_.empty()) return;
  std::visit([this](const auto& record) { add(record); }, event);
}

std::optional<size_t> ReadWatch::layer_of(SegmentId segment) const {
  if (segment < layout_.first_expert) return std::nullopt;
  const size_t layer = (segment.value - layout_.first_expert.value) / layout_.experts;
  return layer < layers_.size() ? std::optional(layer) : std::nullopt;
}

void ReadWatch::add(const stream::ReadRecord& record) {
  const stream::EndedRead& ended = record.ended;
  if (ended.outcome != stream::ReadOutcome::kGood) return;
  Drive& drive = drives_[ended.read.drive.value];
  const Nanos time = ended.ended - ended.started;
  drive.latency.add(time);
  const int64_t number = ended.ended / kWindow;
  Window& window = drive.windows[static_cast<size_t>(number) % kWindows];
  if (window.number != number) window = {.number = number, .latency = {}};
  window.latency.add(time);
  window.queued_bytes += ended.read.queued_bytes;

  const std::optional<size_t> layer = layer_of(record.segment);
  if (ended.read.priority != stream::Priority::kExpert || !layer) return;
  const bool same = record.round == barrier_.round;
  if (same && ended.ended <= barrier_.end) return;
  if (same) --drives_[barrier_.drive.value].last;
  ++drive.last;
  layers_[*layer].last_drive = ended.read.drive;
  barrier_ = {record.round, ended.read.drive, ended.ended};
}

void ReadWatch::add(const stream::RequestRecord& record) {
  const std::optional<size_t> layer = layer_of(record.first);
  SLUICE_CHECK(layer.has_value());
  layers_[*layer].hits += record.experts - record.missed;
  layers_[*layer].misses += record.missed;
}

void ReadWatch::add(const stream::WaitRecord& record) {
  const std::optional<size_t> layer = layer_of(record.segment);
  (layer ? layers_[*layer].waiting : waiting_spine_) += record.duration;
}

WatchedDrive ReadWatch::watched(const Drive& drive, Nanos now) {
  WatchedDrive result{.latency = drive.latency, .recent = {}, .last = drive.last};
  for (const Window& window : drive.windows) {
    if (window.number < 0 || now / kWindow - window.number >= int64_t{kWindows}) continue;
    result.recent.add(window.latency);
    result.queued_bytes += window.queued_bytes;
  }
  result.queued_bytes /= std::max<uint64_t>(result.recent.count(), 1);
  return result;
}

WatchedReads ReadWatch::watched(Nanos now) const {
  WatchedReads reads;
  const std::lock_guard lock(mutex_);
  reads.drives.reserve(drives_.size());
  for (const Drive& drive : drives_) reads.drives.push_back(watched(drive, now));
  reads.layers = layers_;
  reads.waiting_spine = waiting_spine_;
  return reads;
}

}  // namespace sluice::server
