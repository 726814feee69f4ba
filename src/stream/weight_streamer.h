#pragma once
#include "base/pinned_bytes.h"
#include "base/types.h"
#include "format/placement.h"
#include "io/drive_array.h"
#include "stream/piece_reads.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sluice::stream {

class WeightStreamer;

/// What a streamer tells of, as traces keep it. `round` counts the requests for experts before.

/// A read that has ended.
struct ReadRecord {
  EndedRead ended;
  SegmentId segment;
  uint64_t round = 0;  ///< The barrier that it belongs to.
};
/// A request for experts; they may be computed when all are there.
struct RequestRecord {
  Nanos at{};
  uint64_t round = 0;         ///< This one included.
  SegmentId first{};          ///< One of its experts.
  uint32_t experts = 0;       ///< That it names,
  uint32_t missed = 0;        ///< of which so many were not in memory;
  uint64_t bytes_missed = 0;  ///< and so many bytes had not been asked for by an earlier request.
};
/// next() had nothing to hand out for a while.
struct WaitRecord {
  Nanos started{}, duration{};
  uint64_t round = 0;
  SegmentId segment{};  ///< What came, or was lost, in the end.
};
/// What a hint had brought of a segment was given up before a request asked for it.
struct WasteRecord {
  Nanos at{};
  uint64_t round = 0, bytes = 0;
  SegmentId segment{};
};
using StreamerEvent = std::variant<ReadRecord, RequestRecord, WaitRecord, WasteRecord>;

/// A segment that has arrived. Its memory is not reused while `bytes` lives.
struct ArrivedSegment {
  SegmentId id;
  PinnedBytes bytes;  ///< [segment.memory_bytes]; extents lie at their memory_offset.
};

/// The segments of one request, handed out as they arrive. Dropping it gives up what was not taken:
/// reads that have not started are dropped. It must not outlive the streamer. Used by the thread
/// that requests.
class SegmentBatch {
 public:
  SegmentBatch() = default;
  SegmentBatch(SegmentBatch&& other) noexcept;
  SegmentBatch& operator=(SegmentBatch&& other) noexcept;
  ~SegmentBatch();

  /// The next segment that is in memory, in order of arrival; waits for one. Nothing when all have
  /// been handed out, or in a batch that was default-constructed or moved from. Throws Error(kIo)
  /// that names the file, the offset and the segment when no holder gave a piece of it in two
  /// rounds, or in time; the batch goes on with the other segments, and a later request reads the
  /// lost one anew.
  [[nodiscard]] std::optional<ArrivedSegment> next();

 private:
  friend class WeightStreamer;
  SegmentBatch(WeightStreamer& owner, uint32_t ticket) : owner_(&owner), ticket_(ticket) {}
  WeightStreamer* owner_ = nullptr;
  uint32_t ticket_ = 0;
};

struct StreamerOptions {
  uint64_t slots = 16;  ///< Memory slots for what is not pinned.
  uint64_t spine_slots =
      0;                    ///< Of them, those that experts leave to the spine; see WeightStreamer.
  uint64_t slot_bytes = 0;  ///< At least the largest unpinned segment.
  std::vector<SegmentId> pinned;  ///< Loaded on first use and kept for ever, beside the slots.
  uint32_t expert_layers = 1;     ///< Requests for experts that make a pass; see CachePolicy.
  bool own_thread = true;  ///< False: the calls drive the reads themselves (tests, debugging).
  uint64_t bytes_in_flight = 64u << 20;  ///< Of one drive, at most; one read is always allowed.
  /// A read that takes longer has failed, as far as the request is concerned that waits for it.
  Nanos read_timeout = std::chrono::seconds(30);
  /// What errors call a segment; may be empty.
  std::function<std::string(SegmentId)> name{};
  /// Told of everything in the order in which it ends, under the streamer's mutex; may be empty.
  /// The sums of what it is told are those of the counters.
  std::function<void(const StreamerEvent&)> on_event{};
};

/// What a streamer did since it was made. Each segment named by a request counts once: as a hit
/// when it was in memory at that moment, else as a miss.
struct StreamerCounters {
  uint64_t expert_hits = 0, expert_misses = 0, spine_hits = 0, spine_misses = 0;
  uint64_t hints_started = 0;  ///< Hinted segments that got a slot.
  uint64_t hint_hits = 0;  ///< Of them, those that a request asked for (in memory or on their way).
  uint64_t hint_bytes_read = 0;    ///< Of experts: their reads began while only a hint wanted them.
  uint64_t hint_bytes_used = 0;    ///< Of them, those that a request has asked for since.
  uint64_t hint_bytes_wasted = 0;  ///< Of them, those given up before a request asked for them.
  uint64_t expert_bytes_missed = 0;  ///< Requested when no earlier request had brought them in.
  uint64_t evictions = 0;            ///< Experts that gave up their slot.
  uint64_t retries = 0;              ///< Reads that failed and were tried again.
  uint64_t rescues = 0;  ///< Segments whose last pieces hung and were read from another drive.
  uint64_t expert_bytes_read = 0,
           spine_bytes_read = 0;   ///< Of segments that arrived, without rounding.
  uint64_t device_bytes_read = 0;  ///< Of all reads that succeeded, with the rounding to blocks.
  uint64_t waiting_ns = 0;         ///< Time that next() spent waiting, by the drives' clock.
};

/// What a drive did for a streamer since that was made.
struct DriveCounters {
  std::array<uint64_t, kPriorities> bytes{};       ///< Of good reads, by Priority.
  std::array<uint64_t, kReadOutcomes> outcomes{};  ///< Reads that ended so.
  uint64_t quarantines = 0;                        ///< Times that it was left alone for a while.
  Nanos busy{};                                    ///< Time with a read under way.
  double rate = 0;                                 ///< Bytes per second, as it was last.
  Nanos oldest{};  ///< How long its oldest read under way has taken so far.
};

/// Brings segments from the drives into a fixed set of memory slots and keeps the useful ones
/// there.
///
/// One mutex guards all state. It is held for microseconds and never across a read or a
/// computation: a token needs about 10^4 reads, so control is cheap and only bytes are dear. All
/// memory of segments is reserved by the constructor. One thread requests, hints and takes; any
/// thread may give bytes back or read the counters; one thread of the streamer's own reads. Without
/// that thread, request(), hint() and next() drive the reads.
///
/// Drives pull what they hold, as PieceScheduler says. What a read brings is checked against its
/// checksum where it has one. Requests wait for slots in order, spine before experts, and the reads
/// go spine, experts, hints, pinned segments that a hint named. When a read hangs and another drive
/// holds the same, the segment goes on in another slot; the hanging read keeps only the old one.
/// A slot is given up in this order: empty, idle spine segment,
/// the idle expert that CachePolicy scores lowest, hint whose reads have not started. Experts never
/// hold more than slots - spine_slots, so up to spine_slots spine segments can be requested or held
/// however many experts wait: a batch of experts that is not being taken from cannot block them.
///
/// A batch holds the slots of what it has been promised until it is taken or dropped. When next()
/// waits and nothing is being read, it takes such a promise back from another batch, whose segment
/// is then read again: that is right but costs, so take from batches in the order of their
/// requests. When every slot that it could have is held by bytes that were taken and are still
/// alive, next() can never return and stops the program; so at least one slot (for an expert: one
/// that is not a spine slot) must be given back before waiting for more.
class WeightStreamer {
 public:
  /// `placement` and `drives` must outlive it. Throws Error(kOutOfMemory). Pieces that nobody
  /// holds, segments longer than a slot and unknown ids are bugs (checked).
  WeightStreamer(const format::Placement& placement, io::DriveArray& drives,
                 StreamerOptions options);
  /// Waits for reads under way. All batches and bytes must have been given back (checked).
  ~WeightStreamer();
  WeightStreamer(const WeightStreamer&) = delete;
  WeightStreamer& operator=(const WeightStreamer&) = delete;

  /// Starts loading what is absent and returns at once. A batch may be larger than the slots: what
  /// does not fit is read as earlier segments are given back. An id named twice is handed out
  /// twice.
  [[nodiscard]] SegmentBatch request(std::span<const SegmentId> ids);
  /// Says what may be needed soon. Takes only empty slots, idle spine segments and experts that the
  /// last two requests for experts did not use, and nothing while a request waits for a slot; what
  /// gets no slot is forgotten. A hint that names experts takes the place of earlier ones of which
  /// nothing has been read: what was likely for one layer is not for the next. An expert that is
  /// there counts as just used. A hint for a pinned segment is always kept and read last.
  void hint(std::span<const SegmentId> ids);
  /// For a streamer without a thread of its own: reading goes on until the drives' clock shows
  /// `time`, as it would beside a computation.
  void run_until(Nanos time);
  /// Whether the segment is in memory or on its way.
  [[nodiscard]] bool holds(SegmentId id) const;
  /// The same of `count` segments from `first` on, as of one moment.
  [[nodiscard]] std::vector<bool> held(SegmentId first, uint32_t count) const;
  [[nodiscard]] StreamerCounters counters() const;
  /// By drive.
  [[nodiscard]] std::vector<DriveCounters> drive_counters() const;
  /// Bytes of memory reserved for slots and pinned segments.
  [[nodiscard]] uint64_t reserved_bytes() const;
  /// Memory beside them that is noted about one slot at most.
  [[nodiscard]] static uint64_t record_bytes(const format::Placement& placement);

 private:
  friend class SegmentBatch;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::stream
