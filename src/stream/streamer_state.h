#pragma once
#include "stream/piece_reads.h"
#include "stream/piece_scheduler.h"
#include "stream/slot_arena.h"
#include "stream/slot_table.h"
#include "stream/weight_streamer.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace sluice::stream {

/// The state of a WeightStreamer. weight_streamer.cpp has who waits for what, streamer_reading.cpp
/// what the reading thread does.
struct WeightStreamer::Impl {
  struct Arrival {
    uint32_t slot = SlotTable::kNone;  // kNone: the segment is lost, and the rest says why.
    SegmentId segment;
    EndedRead failure{};
  };
  struct Ticket {
    uint64_t outstanding = 0;  // Segments that next() has not handed out or reported.
    std::deque<Arrival> arrivals;
  };
  struct Waiting {
    uint32_t ticket = 0;
    SegmentId segment;
  };

  Impl(const format::Placement& placement_in, io::DriveArray& drives_in,
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
  void poke(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] uint64_t waiting_total() const { return waiting[0].size() + waiting[1].size(); }

  std::optional<uint32_t> start(SegmentId segment, bool hint, uint64_t waiting);
  void tell(const StreamerEvent& event) const;
  void follow_table();
  [[nodiscard]] Priority priority_of(SegmentId segment) const;
  [[nodiscard]] std::span<std::byte> memory_of(uint32_t index) const;
  void gather_reads();
  void complete(const EndedRead& ended);
  void count(const EndedRead& ended, SegmentId segment);
  void arrived(uint32_t index);
  void lose(uint32_t index, const EndedRead& failure);
  void look_for_stalls();
  bool rescue(uint32_t index);
  void copy_arrived(uint32_t index, uint32_t fresh);
  [[nodiscard]] Nanos wait_limit();
  void step(std::unique_lock<std::mutex>& lock, Nanos at_most = Nanos::max());
  void run();
  void wait_for_progress(std::unique_lock<std::mutex>& lock, Nanos since);
  [[noreturn]] void report_loss(const Arrival& loss) const;

  const format::Placement& placement;
  const std::span<const format::Segment> segments;
  io::DriveArray& drives;
  const StreamerOptions options;

  std::mutex mutex;  // Guards everything below, except what is marked as the reading thread's.
  std::condition_variable progress;  // A segment arrived or was lost, or a slot became empty.
  SlotTable table;
  PieceScheduler scheduler;  // A job of it is a slot.
  SlotArena arena;           // Its bytes are guarded by the users of their slot.
  std::deque<Ticket> tickets;
  std::vector<uint32_t> free_tickets;
  std::array<std::deque<Waiting>, 2> waiting;  // By SegmentKind; the spine goes first.
  bool new_work = false;  // Something was queued that the reading thread has not seen.
  StreamerCounters counters;
  std::vector<DriveCounters> by_drive;
  Nanos last_good_read{};
  bool rescue_again = false;  // A segment that hangs found no slot.
  bool stop = false;

  PieceReads reads;  // The reading thread's: filled under the mutex, submitted without it.
  std::thread thread;
};

}  // namespace sluice::stream
