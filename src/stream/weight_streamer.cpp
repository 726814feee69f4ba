#include "stream/weight_streamer.h"

#include "base/check.h"
#include "base/error.h"
#include "base/start_thread.h"
#include "stream/slot_arena.h"
#include "stream/slot_table.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace sluice::stream {

using format::SegmentKind;

namespace {

/// Only a missed wake() could make it matter; every wait is followed by another look at the state.
constexpr Nanos kWaitAtMost = std::chrono::seconds(60);

SlotTableOptions table_options(const StreamerOptions& options) {
  return {.slots = options.slots,
          .spine_slots = options.spine_slots,
          .slot_bytes = round_up(options.slot_bytes, io::kBlockBytes),
          .pinned = options.pinned,
          .read_bytes = options.read_bytes,
          .policy = {.turns_per_pass = options.expert_layers}};
}

}  // namespace

struct WeightStreamer::Impl {
  struct Arrival {
    uint32_t slot = SlotTable::kNone;  // kNone: the segment is lost, and the rest says why.
    SegmentId segment;
    Piece piece;
    io::Completion failure;
  };
  struct Ticket {
    uint64_t outstanding = 0;  // Segments that next() has not handed out or reported.
    std::deque<Arrival> arrivals;
  };
  struct Waiting {
    uint32_t ticket = 0;
    SegmentId segment;
  };

  Impl(std::span<const format::Segment> segments_in, io::DriveArray& drives_in,
       StreamerOptions options_in);
  ~Impl();

  [[nodiscard]] PinnedBytes lend(const Arrival& arrival);
  uint32_t open_ticket();
  void close_ticket(uint32_t ticket) noexcept;
  void want_present(uint32_t ticket, SegmentId segment);
  bool want(uint32_t ticket, SegmentId segment);
  void promise(uint32_t ticket, uint32_t index);
  void give_back(uint32_t index);
  void take_back_for(uint32_t ticket);
  void withdraw(uint32_t index);
  void start_waiting();
  [[nodiscard]] uint64_t waiting_total() const { return waiting[0].size() + waiting[1].size(); }

  void gather_reads();
  void collect(std::span<const io::Completion> completions);
  void complete(const io::Completion& completion);
  void arrived(uint32_t index);
  void lose(uint32_t index, const Piece& piece, const io::Completion& failure);
  void step(std::unique_lock<std::mutex>& lock);
  void run();
  void poke(std::unique_lock<std::mutex>& lock);
  [[noreturn]] void report_loss(const Arrival& loss) const;

  const std::span<const format::Segment> segments;
  io::DriveArray& drives;
  const StreamerOptions options;

  std::mutex mutex;  // Guards everything below, except what is marked as the reading thread's.
  std::condition_variable progress;  // A segment arrived or was lost, or a slot became empty.
  SlotTable table;
  SlotArena arena;  // Its bytes are guarded by the users of their slot.
  std::deque<Ticket> tickets;
  std::vector<uint32_t> free_tickets;
  std::array<std::deque<Waiting>, 2> waiting;  // By SegmentKind; the spine goes first.
  uint64_t bytes_in_flight = 0;
  StreamerCounters counters;
  bool stop = false;

  std::vector<io::Read>
      reads;  // The reading thread's: filled under the mutex, submitted without it.
  std::thread thread;
};

WeightStreamer::Impl::Impl(std::span<const format::Segment> segments_in, io::DriveArray& drives_in,
                           StreamerOptions options_in)
    : segments(segments_in),
      drives(drives_in),
      options(std::move(options_in)),
      table(segments, table_options(options)),
      arena(table.memory_bytes()) {
  for (const format::Segment& segment : segments) {
    for (const format::Extent& extent : segment.extents) {
      SLUICE_CHECK(extent.drive.value < drives.drive_count());
    }
  }
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
  while (bytes_in_flight > 0) step(lock);
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
    if (slot.waiters.empty() && slot.pieces_started < slot.pieces.size()) table.abandon(i);
  }
}

// The part of want() that needs no slot.
void WeightStreamer::Impl::want_present(uint32_t ticket, SegmentId segment) {
  const uint32_t index = table.find(segment);
  Slot& slot = table.slot(index);
  slot.round_used = table.round();
  if (std::exchange(slot.hinted, false)) ++counters.hint_hits;
  if (slot.ready) {
    promise(ticket, index);
  } else {
    table.add_waiter(index, ticket);
  }
}

// False when the segment is absent and there is no slot for it now.
bool WeightStreamer::Impl::want(uint32_t ticket, SegmentId segment) {
  if (table.find(segment) == SlotTable::kNone &&
      !table.start(segment, /*hint=*/false, waiting_total())) {
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
  tickets[ticket].arrivals.push_back(
      {.slot = index, .segment = slot.segment, .piece = {}, .failure = {}});
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

// Moves pieces into `reads` as far as the window allows, the most urgent first.
void WeightStreamer::Impl::gather_reads() {
  reads.clear();
  for (const SlotState queue : {SlotState::kSpineQueue, SlotState::kExpertQueue,
                                SlotState::kHintQueue, SlotState::kFillQueue}) {
    while (!stop && !table.in(queue).empty()) {
      const uint32_t index = table.in(queue).front();
      const Slot& slot = table.slot(index);
      const uint32_t number = slot.pieces_started;
      const Piece& piece = slot.pieces[number];
      if (bytes_in_flight > 0 && bytes_in_flight + piece.bytes > options.bytes_in_flight) return;
      std::byte* memory = arena.data() + slot.memory_offset + piece.memory_offset;
      // Slot and piece tell reads apart: a slot is not reused before its last read has ended.
      reads.push_back({.id = {uint64_t{index} << 32 | number},
                       .drive = piece.drive,
                       .offset = piece.offset,
                       .into = {memory, piece.bytes}});
      bytes_in_flight += piece.bytes;
      table.piece_started(index);
    }
  }
}

void WeightStreamer::Impl::collect(std::span<const io::Completion> completions) {
  for (const io::Completion& completion : completions) complete(completion);
  if (!stop) start_waiting();
}

void WeightStreamer::Impl::complete(const io::Completion& completion) {
  const auto index = static_cast<uint32_t>(completion.id.value >> 32);
  const auto number = static_cast<uint32_t>(completion.id.value);
  Slot& slot = table.slot(index);
  SLUICE_CHECK(slot.reads_in_flight > 0 && number < slot.pieces_started);
  const Piece piece = slot.pieces[number];
  const bool good = completion.status == io::ReadStatus::kOk;
  bytes_in_flight -= piece.bytes;
  --slot.reads_in_flight;
  if (good) counters.device_bytes_read += piece.bytes;
  if (slot.abandoned) {
    if (slot.reads_in_flight > 0) return;
    table.clear(index);
    progress.notify_all();
  } else if (!good && piece.retried) {
    lose(index, piece, completion);
  } else if (!good) {
    ++counters.retries;
    table.retry(index, number);
  } else if (slot.reads_in_flight == 0 && slot.pieces_started == slot.pieces.size()) {
    arrived(index);
  }
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

void WeightStreamer::Impl::lose(uint32_t index, const Piece& piece, const io::Completion& failure) {
  Slot& slot = table.slot(index);
  for (const uint32_t ticket : slot.waiters) {
    tickets[ticket].arrivals.push_back(
        {.slot = SlotTable::kNone, .segment = slot.segment, .piece = piece, .failure = failure});
  }
  slot.waiters.clear();
  table.abandon(index);
  progress.notify_all();
}

void WeightStreamer::Impl::report_loss(const Arrival& loss) const {
  const std::string& path = drives.path(loss.piece.drive);
  const std::string name =
      options.name ? options.name(loss.segment) : fmt::format("segment {}", loss.segment.value);
  if (loss.failure.status == io::ReadStatus::kShort) {
    throw Error(
        ErrorCode::kIo,
        "{}: ends before byte {}, where {} lies, although it was longer when it was "
        "opened; "
        "check that nothing truncates or replaces the file, and verify it against its checksum",
        path, loss.piece.offset + loss.piece.bytes, name);
  }
  throw Error(ErrorCode::kIo,
              "{}: reading {} bytes at offset {} ({}) failed twice: {}; check the drive's health "
              "(kernel log, SMART) and its connection, or copy the file to another drive",
              path, loss.piece.bytes, loss.piece.offset, name, std::strerror(loss.failure.error));
}

// Submits what the window has room for, waits for the drives without the mutex, and takes in what
// they did.
void WeightStreamer::Impl::step(std::unique_lock<std::mutex>& lock) {
  std::array<io::Completion, 64> done;
  gather_reads();
  lock.unlock();
  if (!reads.empty()) drives.submit(reads);
  const size_t count = drives.wait(done, kWaitAtMost);
  lock.lock();
  collect(std::span(done).first(count));
}

void WeightStreamer::Impl::run() {
  std::unique_lock lock(mutex);
  while (!stop || bytes_in_flight > 0) step(lock);
}

// After a call that may have queued reads: lets them start. Gives the mutex up.
void WeightStreamer::Impl::poke(std::unique_lock<std::mutex>& lock) {
  const bool queued =
      !table.in(SlotState::kSpineQueue).empty() || !table.in(SlotState::kExpertQueue).empty() ||
      !table.in(SlotState::kHintQueue).empty() || !table.in(SlotState::kFillQueue).empty();
  // With a full window the reading thread looks again after the next completion anyway.
  const bool room = bytes_in_flight < options.bytes_in_flight;
  lock.unlock();
  if (options.own_thread && queued && room) drives.wake();
}

WeightStreamer::WeightStreamer(std::span<const format::Segment> segments, io::DriveArray& drives,
                               StreamerOptions options)
    : impl_(std::make_unique<Impl>(segments, drives, std::move(options))) {}

WeightStreamer::~WeightStreamer() = default;

SegmentBatch WeightStreamer::request(std::span<const SegmentId> ids) {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  const uint32_t ticket = impl.open_ticket();
  impl.tickets[ticket].outstanding = ids.size();
  bool experts = false;
  for (const SegmentId id : ids) {
    SLUICE_CHECK(id.value < impl.segments.size());
    experts |= impl.segments[id.value].kind == SegmentKind::kExpert;
  }
  if (experts) impl.table.begin_round();
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
    if (index != SlotTable::kNone) {
      impl.want_present(ticket, id);
    } else {
      absent.push_back(id);
    }
  }
  for (const SegmentId id : absent) {
    // A pinned segment has its slot and need not stand in line for one.
    if (impl.table.pinned(id) && impl.want(ticket, id)) continue;
    impl.waiting[static_cast<size_t>(impl.segments[id.value].kind)].push_back({ticket, id});
  }
  impl.start_waiting();
  if (!impl.options.own_thread) {
    impl.gather_reads();
    if (!impl.reads.empty()) impl.drives.submit(impl.reads);
  }
  impl.poke(lock);
  return SegmentBatch(*this, ticket);
}

void WeightStreamer::hint(std::span<const SegmentId> ids) {
  Impl& impl = *impl_;
  std::unique_lock lock(impl.mutex);
  for (const SegmentId id : ids) {
    SLUICE_CHECK(id.value < impl.segments.size());
    if (impl.table.find(id) != SlotTable::kNone) {
      impl.table.touch(impl.table.find(id));
    } else if (impl.waiting_total() == 0 || impl.table.pinned(id)) {
      if (impl.table.start(id, /*hint=*/true, 0)) ++impl.counters.hints_started;
    }
  }
  if (!impl.options.own_thread) {
    impl.gather_reads();
    if (!impl.reads.empty()) impl.drives.submit(impl.reads);
  }
  impl.poke(lock);
}

StreamerCounters WeightStreamer::counters() const {
  const std::lock_guard lock(impl_->mutex);
  StreamerCounters counters = impl_->counters;
  counters.evictions = impl_->table.evictions();
  return counters;
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
      } else if (impl.options.own_thread) {
        impl.progress.wait(lock);
      } else {
        impl.step(lock);
      }
    }
    impl.counters.waiting_ns += static_cast<uint64_t>((impl.drives.now() - start).count());
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
