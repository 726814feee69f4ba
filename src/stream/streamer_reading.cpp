#include "base/check.h"
#include "base/error.h"
#include "stream/lost_segment.h"
#include "stream/streamer_state.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sluice::stream {

using format::SegmentKind;

namespace {

/// Only a missed wake() could make it matter; every wait is followed by another look at the state.
constexpr Nanos kWaitAtMost = std::chrono::seconds(60);
/// A slot may be given back meanwhile.
constexpr Nanos kNextRescue = std::chrono::milliseconds(5);

/// What a read's end means for its drive. An unplugged one does not come back by asking again.
PieceOutcome outcome_for_drive(const EndedRead& ended) {
  if (ended.outcome == ReadOutcome::kGood) return PieceOutcome::kGood;
  const bool gone =
      ended.outcome == ReadOutcome::kIoError && (ended.error == ENODEV || ended.error == ENXIO ||
                                                 ended.error == ENOTCONN || ended.error == ESTALE);
  return gone ? PieceOutcome::kDriveGone : PieceOutcome::kBad;
}

}  // namespace

std::span<std::byte> WeightStreamer::Impl::memory_of(uint32_t index) const {
  const Slot& slot = table.slot(index);
  return {arena.data() + slot.memory_offset, segments[slot.segment.value].memory_bytes};
}

void WeightStreamer::Impl::gather_reads() {
  new_work = false;
  if (stop) return;
  reads.gather(scheduler, [this](const PieceRead& read) {
    const uint32_t index = read.job.value;
    Slot& slot = table.slot(index);
    ++slot.reads_in_flight;
    if (read.priority == Priority::kHint) {
      slot.hint_bytes += read.bytes;
      counters.hint_bytes_read += read.bytes;
    }
    if (!scheduler.waits(read.job)) table.all_started(index);
    return memory_of(index);
  });
}

void WeightStreamer::Impl::complete(const EndedRead& ended) {
  const uint32_t index = ended.read.job.value;
  Slot& slot = table.slot(index);
  SLUICE_CHECK(slot.reads_in_flight > 0);
  --slot.reads_in_flight;
  count(ended, slot.segment);
  const JobEvent event = scheduler.end(ended.read, outcome_for_drive(ended), ended.ended);
  if (slot.abandoned) {
    if (slot.reads_in_flight > 0) return;
    table.clear(index);
    follow_table();
    progress.notify_all();
    return;
  }
  switch (event) {
    case JobEvent::kNone:
      break;
    case JobEvent::kRetry:
      ++counters.retries;
      break;
    case JobEvent::kLost:
      lose(index, ended);
      break;
    case JobEvent::kComplete:
      arrived(index);
      break;
  }
}

void WeightStreamer::Impl::count(const EndedRead& ended, SegmentId segment) {
  DriveCounters& drive = by_drive[ended.read.drive.value];
  ++drive.outcomes[static_cast<size_t>(ended.outcome)];
  if (ended.outcome == ReadOutcome::kGood) {
    drive.bytes[static_cast<size_t>(ended.read.priority)] += ended.read.bytes;
    counters.device_bytes_read += ended.read.bytes;
    last_good_read = ended.ended;
  }
  tell(ReadRecord{ended, segment, table.round()});
}

void WeightStreamer::Impl::arrived(uint32_t index) {
  table.finish(index);
  Slot& slot = table.slot(index);
  const uint64_t bytes = payload_bytes(segments[slot.segment.value]);
  (slot.kind == SegmentKind::kSpine ? counters.spine_bytes_read : counters.expert_bytes_read) +=
      bytes;
  for (const uint32_t ticket : slot.waiters) promise(ticket, index);
  slot.waiters.clear();
  progress.notify_all();  // Also when nobody waits: it may have been the last read under way.
}

void WeightStreamer::Impl::lose(uint32_t index, const EndedRead& failure) {
  Slot& slot = table.slot(index);
  for (const uint32_t ticket : slot.waiters) {
    tickets[ticket].arrivals.push_back(
        {.slot = SlotTable::kNone, .segment = slot.segment, .failure = failure});
  }
  slot.waiters.clear();
  table.abandon(index);
  follow_table();
  progress.notify_all();
}

void WeightStreamer::Impl::report_loss(const Arrival& loss) const {
  const std::string name =
      options.name ? options.name(loss.segment) : fmt::format("segment {}", loss.segment.value);
  report_lost_segment(loss.failure, drives.path(loss.failure.read.holder.file), name);
}

// Segments that only hanging reads keep from being complete go on elsewhere; those that nobody else
// holds are lost after a while.
void WeightStreamer::Impl::look_for_stalls() {
  const Nanos now = drives.now();
  rescue_again = false;
  for (const JobId job : scheduler.find_stalled(now)) rescue_again |= !rescue(job.value);
  while (const std::optional<PieceRead> read = scheduler.find_hopeless(options.read_timeout, now)) {
    const EndedRead given_up{.read = *read,
                             .outcome = ReadOutcome::kNoAnswer,
                             .started = now - scheduler.oldest(read->drive, now),
                             .ended = now};
    count(given_up, table.slot(read->job.value).segment);
    lose(read->job.value, given_up);
  }
}

// A read under way cannot be called back and owns its memory, so the segment moves. False when
// there is no slot for it now.
bool WeightStreamer::Impl::rescue(uint32_t index) {
  std::optional<uint32_t> fresh = table.relocate(index);
  if (!fresh && scheduler.all_stalled()) {
    // What other batches wait for with all that there is may be read again.
    const std::optional<uint32_t> promised = table.find_promised(table.slot(index).kind);
    if (promised) withdraw(*promised);
    if (promised) fresh = table.relocate(index);
  }
  if (!fresh) {
    follow_table();
    return false;
  }
  copy_arrived(index, *fresh);
  follow_table();
  scheduler.continue_as({index}, {*fresh});
  ++counters.rescues;
  return true;
}

// What has arrived of a segment, to the slot where it goes on.
void WeightStreamer::Impl::copy_arrived(uint32_t index, uint32_t fresh) {
  if (drives.hollow()) return;
  std::byte* const from = arena.data() + table.slot(index).memory_offset;
  std::byte* const to = memory_of(fresh).data();
  const std::vector<format::Piece>& pieces = scheduler.pieces_under_way({index});
  for (uint32_t p = 0; p < pieces.size(); ++p) {
    if (!scheduler.arrived({index}, p)) continue;
    std::memcpy(to + pieces[p].memory_offset, from + pieces[p].memory_offset, pieces[p].bytes);
  }
}

// How long the drives may be waited for until something is to be looked at again.
Nanos WeightStreamer::Impl::wait_limit() {
  const Nanos now = drives.now(), look_again = scheduler.look_again(now);
  Nanos limit = kWaitAtMost;
  if (rescue_again) limit = kNextRescue;
  if (look_again != Nanos::max()) limit = std::min(limit, look_again - now);
  if (scheduler.bytes_in_flight() > 0) limit = std::min(limit, options.read_timeout);
  return std::max(limit, Nanos(1000));
}

// Submits what the drives have room for, waits for them without the mutex, for `at_most`, and takes
// in what they did.
void WeightStreamer::Impl::step(std::unique_lock<std::mutex>& lock, Nanos at_most) {
  gather_reads();
  const Nanos limit = std::min(wait_limit(), at_most);
  lock.unlock();
  const std::span<const EndedRead> ended = reads.wait(limit);
  lock.lock();
  for (const EndedRead& read : ended) complete(read);
  if (stop) return;
  look_for_stalls();
  start_waiting();
}

void WeightStreamer::Impl::run() {
  std::unique_lock lock(mutex);
  while (!stop || scheduler.bytes_in_flight() > 0) step(lock);
}

// Waits for the reading thread, or does its work. Slots can be held by reads that hang for ever, so
// that nothing comes any more.
void WeightStreamer::Impl::wait_for_progress(std::unique_lock<std::mutex>& lock, Nanos since) {
  if (options.own_thread) {
    progress.wait_for(lock, std::chrono::seconds(1));
  } else {
    step(lock);
  }
  const Nanos idle = drives.now() - std::max(since, last_good_read);
  if (idle < 2 * options.read_timeout) return;
  throw Error(ErrorCode::kIo,
              "no drive has answered for {} s, and reads that hang hold the memory that others "
              "need; check the drives (kernel log, SMART) and start again",
              std::chrono::duration_cast<std::chrono::seconds>(idle).count());
}

}  // namespace sluice::stream
