#pragma once
#include "base/types.h"
#include "format/placement.h"
#include "stream/drive_model.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

namespace sluice::stream {

/// Why a segment is read. What comes first in this list is read first.
enum class Priority : uint8_t {
  kSpine,   ///< A request for a spine segment waits for it.
  kExpert,  ///< The same for an expert.
  kHint,    ///< A hint asked for it.
  kFill,    ///< The same, for a pinned segment.
};
inline constexpr size_t kPriorities = 4;
[[nodiscard]] constexpr bool is_demand(Priority priority) { return priority <= Priority::kExpert; }

/// A segment that is to be read, by the slot that it goes to.
using JobId = Id<struct JobTag, uint32_t>;

/// A read to be made.
struct PieceRead {
  JobId job;
  uint32_t piece = 0;  ///< Of the segment.
  DriveId drive;
  format::Holder holder;
  uint64_t memory_offset = 0;  ///< Where it lands in the segment's memory,
  uint64_t bytes = 0;          ///< and how many bytes: whole blocks that hold the stored ones.
  uint64_t piece_bytes = 0;    ///< Of memory that the piece fills.
  uint64_t queued_bytes = 0;   ///< In flight on the drive when it started, this read included.
  Priority priority = Priority::kExpert;
  bool retry = false;  ///< Another read of this piece has failed.
};

/// How a read ended, as far as the choice of the next one goes.
enum class PieceOutcome : uint8_t { kGood, kBad, kDriveGone };

/// What follows from the end of a read.
enum class JobEvent : uint8_t {
  kNone,      ///< More is to come.
  kComplete,  ///< It was the last piece.
  kRetry,     ///< The piece is to be read again.
  kLost,      ///< No holder gave the piece in two rounds. The job is to be dropped.
};

struct SchedulerOptions {
  std::vector<DriveId> drive_of_file;  ///< By FileId.
  DriveModelOptions drive{};
};

/// What each drive should read next. Drives pull: one with room in its window takes the most urgent
/// piece that it holds, unless a holder that is faster would have it sooner. So rates need not be
/// known beforehand, a slow or busy drive gets less by itself, and the last pieces of a request go
/// to whoever ends first.
///
/// A piece that failed goes to another holder, then once more to each, then its job is lost. A
/// drive that fails several times in a row is left alone for a while, as is one in which a read
/// hangs; only pieces that nobody else holds are asked of it meanwhile.
///
/// A pure function of the calls and of the times given with them: no threads, reads or memory of
/// segments. One thread at a time.
class PieceScheduler {
 public:
  explicit PieceScheduler(SchedulerOptions options, size_t jobs_max);

  /// The pieces of a new job, to be filled before add(): its memory is reused.
  [[nodiscard]] std::vector<format::Piece>& pieces_of(JobId job);
  /// Those of a job with reads under way.
  [[nodiscard]] const std::vector<format::Piece>& pieces_under_way(JobId job) const {
    return jobs_[job.value].pieces;
  }
  /// Queues the job behind those of its priority. Its pieces must all be held by somebody.
  void add(JobId job, Priority priority);
  /// Queues what has not been started of it behind those of another priority; what failed before
  /// does not count any more.
  void set_priority(JobId job, Priority priority);
  [[nodiscard]] Priority priority(JobId job) const;
  /// Drops what has not been started. Reads under way must still be ended.
  void drop(JobId job);
  /// Whether some piece waits to be started.
  [[nodiscard]] bool waits(JobId job) const { return jobs_[job.value].waiting > 0; }
  [[nodiscard]] bool anything_waits() const;
  /// Reads of the job that are under way.
  [[nodiscard]] uint32_t under_way(JobId job) const { return jobs_[job.value].under_way; }
  [[nodiscard]] uint64_t bytes_in_flight() const { return bytes_in_flight_; }

  /// The next read to be made now, which counts as started; nothing when no drive has room or
  /// nothing waits.
  [[nodiscard]] std::optional<PieceRead> next(Nanos now);
  /// A read of next() has ended.
  JobEvent end(const PieceRead& read, PieceOutcome outcome, Nanos now);

  /// Jobs that only stalled reads keep from being complete, and that other drives could give.
  [[nodiscard]] std::vector<JobId> find_stalled(Nanos now);
  /// No read is under way but those that are stalled, so that nothing will happen by itself.
  [[nodiscard]] bool all_stalled() const;
  /// Continues a stalled job as another one, which has a copy of what was there: queues the pieces
  /// that are not, for other holders. The old job is then to be dropped.
  void continue_as(JobId stalled, JobId fresh);
  /// The pieces of a job that have arrived.
  [[nodiscard]] bool arrived(JobId job, uint32_t piece) const;
  /// A read of a job that was not dropped, that is stalled for longer than `timeout` and that no
  /// other drive could make; nothing when there is none.
  [[nodiscard]] std::optional<PieceRead> find_hopeless(Nanos timeout, Nanos now) const;
  /// When to look again although nothing has ended, at the latest: a read is stalled then, or a
  /// drive's quarantine is over.
  [[nodiscard]] Nanos look_again(Nanos now) const;
  /// How long the oldest read under way on a drive has taken so far; 0 when there is none.
  [[nodiscard]] Nanos oldest(DriveId drive, Nanos now) const;

  [[nodiscard]] const DriveModel& drive(DriveId drive) const { return drives_[drive.value].model; }
  [[nodiscard]] size_t drive_count() const { return drives_.size(); }
  /// Memory that a job of so many pieces takes, with up to kDrivesUsual drives.
  [[nodiscard]] static uint64_t record_bytes(uint64_t pieces) {
    constexpr uint64_t kDrivesUsual = 16;
    return sizeof(Job) + pieces * (sizeof(format::Piece) + sizeof(PieceProgress)) +
           kDrivesUsual * sizeof(uint32_t);
  }

 private:
  enum class PieceState : uint8_t { kWaiting, kReading, kArrived };
  struct PieceProgress {
    PieceState state = PieceState::kWaiting;
    uint8_t failed = 0;    // Holders that failed in this round, a bit each.
    uint8_t reading = 0;   // The holder that reads it now.
    int8_t rounds = 0;     // In which all holders failed.
    bool stalled = false;  // Its drive has been told.
    DriveModel::Started started;
  };
  struct Job {
    std::vector<format::Piece> pieces;
    std::vector<PieceProgress> progress;
    std::vector<uint32_t> waiting_on;  // By drive: pieces that wait and that it may read.
    uint32_t waiting = 0, under_way = 0, arrived = 0;
    Priority priority = Priority::kExpert;
    bool dropped = false;
    std::list<uint32_t>::iterator link;
  };
  struct Drive {
    DriveModel model;
    std::array<uint64_t, kPriorities> waiting_bytes{};  // Of pieces that wait and it may read.
  };
  struct Choice {
    uint32_t job = 0, piece = 0;
    uint8_t holder = 0;
  };

  [[nodiscard]] DriveId drive_of(const format::Holder& holder) const {
    return options_.drive_of_file[holder.file.value];
  }
  void count_waiting(Job& job, uint32_t piece, bool more);
  void enqueue(uint32_t job, bool first);
  void dequeue(uint32_t job);
  void start_waiting(uint32_t job, uint32_t piece, bool first);
  [[nodiscard]] std::optional<Choice> choose(DriveId drive, Nanos now) const;
  [[nodiscard]] std::optional<uint8_t> holder_on(const Job& job, uint32_t piece, DriveId drive,
                                                 Nanos now) const;
  [[nodiscard]] bool better_elsewhere(const Job& job, uint32_t piece, DriveId drive,
                                      Nanos now) const;
  [[nodiscard]] PieceRead start(DriveId drive, const Choice& choice, Nanos now);
  [[nodiscard]] bool other_holder(const Job& job, uint32_t piece, DriveId drive, Nanos now) const;

  const SchedulerOptions options_;
  std::vector<Job> jobs_;
  std::vector<Drive> drives_;
  std::array<std::list<uint32_t>, kPriorities> queues_;  // Jobs with pieces that wait.
  std::list<uint32_t> idle_;                             // Nodes of the other jobs.
  std::vector<uint32_t> reading_;                        // Jobs with reads under way.
  uint64_t bytes_in_flight_ = 0;
  uint32_t turn_ = 0;  // The drive that is asked first.
};

}  // namespace sluice::stream
