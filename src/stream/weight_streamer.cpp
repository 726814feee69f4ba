#include "stream/weight_streamer.h"

#include "base/check.h"
#include "base/start_thread.h"
#include "stream/streamer_state.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice::stream {

using format::SegmentKind;

namespace {

SlotTableOptions table_options(const StreamerOptions& options) {
  return {.slots = options.slots,
          .spine_slots = options.spine_slots,
          .slot_bytes = round_up(options.slot_bytes, io::kBlockBytes),
          .pinned = options.pinned,
          .policy = {.turns_per_pass = options.expert_layers}};
}

SchedulerOptions scheduler_options(const format::Placement& placement, const io::DriveArray& drives,
                                   const StreamerOptions& options) {
  SchedulerOptions result{.drive_of_file = {},
                          .drive = {.piece_bytes = placement.piece_bytes(),
                                    .window_bytes_max = options.bytes_in_flight}};
  for (uint16_t f = 0; f < drives.file_count(); ++f) {
    result.drive_of_file.push_back(drives.drive({f}));
  }
  return result;
}

}  // namespace

WeightStreamer::Impl::Impl(const format::Placement& placement_in, io::DriveArray& drives_in,
                           StreamerOptions options_in)
    : placement(placement_in),
      segments(placement.segments()),
      drives(drives_in),
      options(std::move(options_in)),
      table(segments, table_options(options)),
      scheduler(scheduler_options(placement, drives, options), table.slots().size()),
      arena(table.memory_bytes(), drives.hollow() ? SlotMemory::kNothing : SlotMemory::kWeights),
      by_drive(scheduler.drive_count()),
      reads(drives) {
  drives.use_memory({arena.data(), arena.bytes()});
  if (options.own_thread) thread = start_thread([this] { run(); });
}

WeightStreamer::Impl::~Impl() {
  std::unique_lock lock(mutex);
  stop = true;
  if (thread.joinable()) {
    lock.unlock();
    drives.wake();
    thread.join();
    lock.lock();
  }
  while (scheduler.bytes_in_flight() > 0) step(lock);
  drives.use_memory({});
  SLUICE_CHECK(free_tickets.size() == tickets.size());
  for (const Slot& slot : table.slots()) SLUICE_CHECK(slot.taken + slot.promised == 0);
}

PinnedBytes WeightStreamer::Impl::lend(const Arrival& arrival) {
  const std::span<const std::byte> bytes(arena.data() + table.slot(arrival.slot).memory_offset,
                                         segments[arrival.segment.value].memory_bytes);
  const auto release = [](void* owner, uint32_t key) noexcept {
    auto& impl = *static_cast<Impl*>(owner);
    std::unique_lock lock(impl.mutex);
    impl.give_back(key);
    impl.start_waiting();
    impl.poke(lock);
  };
  return PinnedBytes(bytes, release, this, arrival.slot);
}

uint32_t WeightStreamer::Impl::open_ticket() {
  if (free_tickets.empty()) {
    tickets.emplace_back();
    return static_cast<uint32_t>(tickets.size() - 1);
  }
  const uint32_t ticket = free_tickets.back();
  free_tickets.pop_back();
  return ticket;
}

void WeightStreamer::Impl::close_ticket(uint32_t index) noexcept {
  Ticket& ticket = tickets[index];
  const bool complete = ticket.outstanding == ticket.arrivals.size();
  for (const Arrival& arrival : ticket.arrivals) {
    if (arrival.slot == SlotTable::kNone) continue;
    Slot& slot = table.slot(arrival.slot);
    if (--slot.promised + slot.taken == 0) table.settle(arrival.slot);
  }
  ticket.arrivals.clear();
  ticket.outstanding = 0;
  free_tickets.push_back(index);
  if (complete) return;
  for (std::deque<Waiting>& queue : waiting) {
    std::erase_if(queue, [&](const Waiting& entry) { return entry.ticket == index; });
  }
  const std::span<Slot> slots = table.slots();
  for (uint32_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    if (slot.waiters.empty()) continue;
    std::erase(slot.waiters, index);
    // What is on its way as a whole may as well arrive.
    if (slot.waiters.empty() && scheduler.waits({i})) table.abandon(i);
  }
  follow_table();
}

// The part of want() that needs no slot.
void WeightStreamer::Impl::want_present(uint32_t ticket, SegmentId segment) {
  const uint32_t index = table.find(segment);
  Slot& slot = table.slot(index);
  slot.round_used = table.round();
  if (std::exchange(slot.hinted, false)) {
    ++counters.hint_hits;
    counters.hint_bytes_used += slot.hint_bytes;
  }
  if (slot.ready) {
    promise(ticket, index);
    return;
  }
  table.add_waiter(index, ticket);
  // What a hint began goes on before those of other hints, and failures so far do not count.
  scheduler.set_priority({index}, priority_of(segment));
  new_work = true;
}

Priority WeightStreamer::Impl::priority_of(SegmentId segment) const {
  return segments[segment.value].kind == SegmentKind::kSpine ? Priority::kSpine : Priority::kExpert;
}

// Finds a slot for an absent segment and queues its reads.
std::optional<uint32_t> WeightStreamer::Impl::start(SegmentId segment, bool hint,
                                                    uint64_t waiting_for_slot) {
  const std::optional<uint32_t> index = table.start(segment, hint, waiting_for_slot);
  follow_table();
  if (!index) return std::nullopt;
  const Priority of_hint = table.slot(*index).permanent ? Priority::kFill : Priority::kHint;
  placement.pieces(segment, scheduler.pieces_of({*index}));
  scheduler.add({*index}, hint ? of_hint : priority_of(segment));
  new_work = true;
  return index;
}

void WeightStreamer::Impl::tell(const StreamerEvent& event) const {
  if (options.on_event) options.on_event(event);
}

// Does what follows from slots that were given up.
void WeightStreamer::Impl::follow_table() {
  for (const uint32_t index : table.take_abandoned()) scheduler.drop({index});
  for (const auto& [segment, bytes] : table.take_wasted()) {
    counters.hint_bytes_wasted += bytes;
    tell(WasteRecord{drives.now(), table.round(), bytes, segment});
  }
}

// False when the segment is absent and there is no slot for it now.
bool WeightStreamer::Impl::want(uint32_t ticket, SegmentId segment) {
  if (table.find(segment) == SlotTable::kNone && !start(segment, /*hint=*/false, waiting_total())) {
    return false;
  }
  want_present(ticket, segment);
  return true;
}

void WeightStreamer::Impl::promise(uint32_t ticket, uint32_t index) {
  Slot& slot = table.slot(index);
  ++slot.promised;
  table.settle(index);
  progress.notify_all();
  tickets[ticket].arrivals.push_back({.slot = index, .segment = slot.segment, .failure = {}});
}

void WeightStreamer::Impl::give_back(uint32_t index) {
  Slot& slot = table.slot(index);
  SLUICE_CHECK(slot.taken > 0);
  if (--slot.taken + slot.promised == 0) table.settle(index);
}

// Lets the first segment that the ticket waits for have a slot which is promised to other tickets;
// those wait for their segment again.
void WeightStreamer::Impl::take_back_for(uint32_t ticket) {
  for (std::deque<Waiting>& queue : waiting) {
    const auto entry = std::ranges::find(queue, ticket, &Waiting::ticket);
    if (entry == queue.end()) continue;
    const SegmentId wanted = entry->segment;
    // It can be there already, for others, while it stood in line behind an absent one.
    if (table.find(wanted) == SlotTable::kNone) {
      const std::optional<uint32_t> index = table.find_promised(segments[wanted.value].kind);
      if (!index) continue;
      queue.erase(entry);
      withdraw(*index);
    } else {
      queue.erase(entry);
    }
    SLUICE_CHECK(want(ticket, wanted));
    return;
  }
  check_failed("bytes that were taken and not given back hold every slot", __FILE__, __LINE__);
}

// Takes a segment out of all batches that have not handed it out.
void WeightStreamer::Impl::withdraw(uint32_t index) {
  Slot& slot = table.slot(index);
  std::deque<Waiting>& again = waiting[static_cast<size_t>(slot.kind)];
  for (uint32_t ticket = 0; ticket < tickets.size(); ++ticket) {
    const size_t count = std::erase_if(
        tickets[ticket].arrivals, [&](const Arrival& arrival) { return arrival.slot == index; });
    again.insert(again.end(), count, {ticket, slot.segment});
  }
  slot.promised = 0;
  table.settle(index);
}

void WeightStreamer::Impl::start_waiting() {
  for (std::deque<Waiting>& queue : waiting) {
    while (!queue.empty() && want(queue.front().ticket, queue.front().segment)) queue.pop_front();
  }
}

// After a call that may have queued reads: lets them start. Gives the mutex up.
void WeightStreamer::Impl::poke(std::unique_lock<std::mutex>& lock) {
  if (!options.own_thread && new_work) {
    gather_reads();
    reads.submit();
  }
  const bool wake = options.own_thread && new_work;
  lock.unlock();
  if (wake) drives.wake();
}

WeightStreamer::WeightStreamer(const format::Placement& placement, io::DriveArray& drives,
                               StreamerOptions options)
    : impl_(std::make_unique<Impl>(placement, drives, std::move(options))) {}

WeightStreamer::~WeightStreamer() = default;

SegmentBatch WeightStreamer::request(std::span<const SegmentId> ids) {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  const uint32_t ticket = impl.open_ticket();
  impl.tickets[ticket].outstanding = ids.size();
  RequestRecord told;
  for (const SegmentId id : ids) {
    SLUICE_CHECK(id.value < impl.segments.size());
    if (impl.segments[id.value].kind == SegmentKind::kSpine) continue;
    told.first = id;
    ++told.experts;
  }
  if (told.experts > 0) impl.table.begin_round();
  // What is present is held first, so that nothing absent takes its slot.
  std::vector<SegmentId> absent;
  for (const SegmentId id : ids) {
    const bool spine = impl.segments[id.value].kind == SegmentKind::kSpine;
    if (!spine) impl.table.use(id);
    const uint32_t index = impl.table.find(id);
    const bool hit = index != SlotTable::kNone && impl.table.slot(index).ready;
    StreamerCounters& counters = impl.counters;
    ++(spine ? (hit ? counters.spine_hits : counters.spine_misses)
             : (hit ? counters.expert_hits : counters.expert_misses));
    if (!spine && !hit) ++told.missed;
    if (!spine && (index == SlotTable::kNone || impl.table.slot(index).hinted)) {
      told.bytes_missed += payload_bytes(impl.segments[id.value]);
    }
    if (index != SlotTable::kNone) {
      impl.want_present(ticket, id);
    } else {
      absent.push_back(id);
    }
  }
  if (told.experts > 0) {
    told.at = impl.drives.now();
    told.round = impl.table.round();
    impl.counters.expert_bytes_missed += told.bytes_missed;
    impl.tell(told);
  }
  for (const SegmentId id : absent) {
    // A pinned segment has its slot and need not stand in line for one.
    if (impl.table.pinned(id) && impl.want(ticket, id)) continue;
    impl.waiting[static_cast<size_t>(impl.segments[id.value].kind)].push_back({ticket, id});
  }
  impl.start_waiting();
  impl.poke(lock);
  return SegmentBatch(*this, ticket);
}

void WeightStreamer::hint(std::span<const SegmentId> ids) {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  const auto expert = [&](SegmentId id) {
    return impl.segments[id.value].kind == SegmentKind::kExpert;
  };
  if (std::ranges::any_of(ids, expert)) {
    impl.table.abandon_unread_hints();
    impl.follow_table();
  }
  for (const SegmentId id : ids) {
    SLUICE_CHECK(id.value < impl.segments.size());
    if (impl.table.find(id) != SlotTable::kNone) {
      impl.table.touch(impl.table.find(id));
    } else if (impl.waiting_total() == 0 || impl.table.pinned(id)) {
      if (impl.start(id, /*hint=*/true, 0)) ++impl.counters.hints_started;
    }
  }
  impl.poke(lock);
}

void WeightStreamer::run_until(Nanos time) {
  Impl& impl = *impl_;
  SLUICE_CHECK(!impl.options.own_thread);
  std::unique_lock lock(impl.mutex);
  for (Nanos now = impl.drives.now(); now < time; now = impl.drives.now()) {
    impl.step(lock, time - now);
  }
}

bool WeightStreamer::holds(SegmentId id) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->table.find(id) != SlotTable::kNone;
}

std::vector<bool> WeightStreamer::held(SegmentId first, uint32_t count) const {
  SLUICE_CHECK(uint64_t{first.value} + count <= impl_->segments.size());
  std::vector<bool> held(count);
  const std::lock_guard lock(impl_->mutex);
  for (uint32_t i = 0; i < count; ++i) {
    held[i] = impl_->table.find({first.value + i}) != SlotTable::kNone;
  }
  return held;
}

StreamerCounters WeightStreamer::counters() const {
  const std::lock_guard lock(impl_->mutex);
  StreamerCounters counters = impl_->counters;
  counters.evictions = impl_->table.evictions();
  return counters;
}

std::vector<DriveCounters> WeightStreamer::drive_counters() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<DriveCounters> counters = impl_->by_drive;
  const Nanos now = impl_->drives.now();
  for (uint16_t d = 0; d < counters.size(); ++d) {
    const DriveModel& drive = impl_->scheduler.drive({d});
    counters[d].quarantines = drive.quarantines();
    counters[d].busy = drive.busy(now);
    counters[d].rate = drive.rate();
    counters[d].oldest = impl_->scheduler.oldest({d}, now);
  }
  return counters;
}

uint64_t WeightStreamer::record_bytes(const format::Placement& placement) {
  // A vector may have room for twice of what it holds; a node of a list has two pointers beside its
  // value, and a slot is in two lists; few requests wait for the same segment.
  constexpr uint64_t kNodeBytes = 2 * 3 * sizeof(void*), kWaiterBytes = 8 * sizeof(uint32_t);
  return sizeof(Slot) + kNodeBytes + kWaiterBytes +
         PieceScheduler::record_bytes(std::bit_ceil(placement.pieces_max()));
}

uint64_t WeightStreamer::reserved_bytes() const { return impl_->arena.bytes(); }

SegmentBatch::SegmentBatch(SegmentBatch&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), ticket_(other.ticket_) {}

SegmentBatch& SegmentBatch::operator=(SegmentBatch&& other) noexcept {
  if (this == &other) return *this;
  const SegmentBatch dropped(std::move(*this));
  owner_ = std::exchange(other.owner_, nullptr);
  ticket_ = other.ticket_;
  return *this;
}

SegmentBatch::~SegmentBatch() {
  if (owner_ == nullptr) return;
  WeightStreamer::Impl& impl = *owner_->impl_;
  std::unique_lock lock(impl.mutex);
  impl.close_ticket(ticket_);
  impl.start_waiting();
  impl.poke(lock);
}

std::optional<ArrivedSegment> SegmentBatch::next() {
  if (owner_ == nullptr) return std::nullopt;
  WeightStreamer::Impl& impl = *owner_->impl_;
  std::unique_lock lock(impl.mutex);
  WeightStreamer::Impl::Ticket& ticket = impl.tickets[ticket_];
  if (ticket.outstanding == 0) return std::nullopt;
  if (ticket.arrivals.empty()) {
    const Nanos start = impl.drives.now();
    while (ticket.arrivals.empty()) {
      if (impl.table.loading() == 0) {  // No slot will become free by itself.
        impl.take_back_for(ticket_);
        if (impl.options.own_thread) impl.drives.wake();
      } else {
        impl.wait_for_progress(lock, start);
      }
    }
    const Nanos waited = impl.drives.now() - start;
    impl.counters.waiting_ns += static_cast<uint64_t>(waited.count());
    impl.tell(WaitRecord{start, waited, impl.table.round(), ticket.arrivals.front().segment});
  }
  const WeightStreamer::Impl::Arrival arrival = ticket.arrivals.front();
  ticket.arrivals.pop_front();
  --ticket.outstanding;
  if (arrival.slot == SlotTable::kNone) impl.report_loss(arrival);
  Slot& slot = impl.table.slot(arrival.slot);
  --slot.promised;
  ++slot.taken;
  return ArrivedSegment{arrival.segment, impl.lend(arrival)};
}

}  // namespace sluice::stream
