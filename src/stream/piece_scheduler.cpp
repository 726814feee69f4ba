#include "stream/piece_scheduler.h"

#include "base/check.h"
#include "io/drive_array.h"

#include <algorithm>
#include <utility>

namespace sluice::stream {
namespace {

// In which every holder is asked for a piece once.
constexpr int8_t kRounds = 2;

size_t index(Priority priority) { return static_cast<size_t>(priority); }

uint64_t read_bytes(const format::Holder& holder) {
  return round_up(holder.stored_bytes, io::kBlockBytes);
}

}  // namespace

PieceScheduler::PieceScheduler(SchedulerOptions options, size_t jobs_max)
    : options_(std::move(options)), jobs_(jobs_max) {
  uint16_t drives = 0;
  for (const DriveId drive : options_.drive_of_file) {
    drives = std::max<uint16_t>(drives, static_cast<uint16_t>(drive.value + 1));
  }
  drives_.assign(drives, Drive{DriveModel(options_.drive), {}});
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    jobs_[j].link = idle_.insert(idle_.end(), j);
    jobs_[j].waiting_on.resize(drives);
  }
}

std::vector<format::Piece>& PieceScheduler::pieces_of(JobId job) {
  SLUICE_CHECK(jobs_[job.value].under_way == 0 && jobs_[job.value].waiting == 0);
  return jobs_[job.value].pieces;
}

Priority PieceScheduler::priority(JobId job) const { return jobs_[job.value].priority; }

void PieceScheduler::add(JobId id, Priority priority) {
  Job& job = jobs_[id.value];
  SLUICE_CHECK(job.under_way == 0 && job.waiting == 0 && !job.pieces.empty());
  job.progress.assign(job.pieces.size(), {});
  job.priority = priority;
  job.arrived = 0;
  job.dropped = false;
  for (uint32_t p = 0; p < job.pieces.size(); ++p) start_waiting(id.value, p, /*first=*/false);
}

void PieceScheduler::set_priority(JobId id, Priority priority) {
  Job& job = jobs_[id.value];
  const bool queued = job.waiting > 0;
  if (queued) dequeue(id.value);
  const auto count_all = [&](bool more) {
    for (uint32_t p = 0; p < job.pieces.size(); ++p) {
      if (job.progress[p].state == PieceState::kWaiting) count_waiting(job, p, more);
    }
  };
  count_all(/*more=*/false);
  for (PieceProgress& piece : job.progress) {
    piece.failed = 0;
    piece.rounds = 0;
  }
  job.priority = priority;
  count_all(/*more=*/true);
  if (queued) enqueue(id.value, /*first=*/false);
}

void PieceScheduler::drop(JobId id) {
  Job& job = jobs_[id.value];
  job.dropped = true;
  if (job.waiting == 0) return;
  for (uint32_t p = 0; p < job.pieces.size(); ++p) {
    if (job.progress[p].state == PieceState::kWaiting) count_waiting(job, p, /*more=*/false);
  }
  job.waiting = 0;
  dequeue(id.value);
}

bool PieceScheduler::anything_waits() const {
  return std::ranges::any_of(queues_, [](const auto& queue) { return !queue.empty(); });
}

bool PieceScheduler::arrived(JobId job, uint32_t piece) const {
  return jobs_[job.value].progress[piece].state == PieceState::kArrived;
}

// Keeps the sums of what waits: of the job by drive, and of the drive by priority.
void PieceScheduler::count_waiting(Job& job, uint32_t p, bool more) {
  const format::Piece& piece = job.pieces[p];
  for (uint8_t h = 0; h < piece.holder_count; ++h) {
    if ((job.progress[p].failed >> h & 1) != 0) continue;
    const DriveId drive = drive_of(piece.holders[h]);
    uint64_t& waiting = drives_[drive.value].waiting_bytes[index(job.priority)];
    if (more) {
      waiting += piece.bytes;
      ++job.waiting_on[drive.value];
    } else {
      waiting -= piece.bytes;
      --job.waiting_on[drive.value];
    }
  }
}

void PieceScheduler::enqueue(uint32_t j, bool first) {
  std::list<uint32_t>& queue = queues_[index(jobs_[j].priority)];
  queue.splice(first ? queue.begin() : queue.end(), idle_, jobs_[j].link);
}

void PieceScheduler::dequeue(uint32_t j) {
  idle_.splice(idle_.end(), queues_[index(jobs_[j].priority)], jobs_[j].link);
}

void PieceScheduler::start_waiting(uint32_t j, uint32_t p, bool first) {
  Job& job = jobs_[j];
  SLUICE_CHECK(job.pieces[p].holder_count > 0);
  job.progress[p].state = PieceState::kWaiting;
  count_waiting(job, p, /*more=*/true);
  if (job.waiting++ == 0) enqueue(j, first);
}

std::optional<PieceRead> PieceScheduler::next(Nanos now) {
  const auto count = static_cast<uint32_t>(drives_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const DriveId drive{static_cast<uint16_t>((turn_ + i) % count)};
    if (const std::optional<Choice> choice = choose(drive, now)) {
      turn_ = (drive.value + 1u) % count;
      return start(drive, *choice, now);
    }
  }
  return std::nullopt;
}

std::optional<PieceScheduler::Choice> PieceScheduler::choose(DriveId id, Nanos now) const {
  const Drive& drive = drives_[id.value];
  const uint64_t window = drive.model.window_bytes(now), busy = drive.model.bytes_in_flight();
  bool demand_waits = false;
  for (size_t q = 0; q < kPriorities; ++q) {
    // A guess never stands before demand: it takes a part of an idle drive only.
    const bool demand = is_demand(static_cast<Priority>(q));
    if (!demand && demand_waits) return std::nullopt;
    if (drive.waiting_bytes[q] == 0) continue;
    demand_waits |= demand;
    const uint64_t room = demand ? window : window / 2;
    if (busy >= room && busy > 0) return std::nullopt;
    for (const uint32_t j : queues_[q]) {
      const Job& job = jobs_[j];
      if (job.waiting_on[id.value] == 0) continue;
      for (uint32_t p = 0; p < job.pieces.size(); ++p) {
        const std::optional<uint8_t> holder = holder_on(job, p, id, now);
        if (!holder) continue;
        if (busy > 0 && busy + read_bytes(job.pieces[p].holders[*holder]) > room) {
          return std::nullopt;
        }
        if (!better_elsewhere(job, p, id, now)) return Choice{j, p, *holder};
      }
    }
  }
  return std::nullopt;
}

// Who gives that piece from that drive, if it waits and the drive should be asked.
std::optional<uint8_t> PieceScheduler::holder_on(const Job& job, uint32_t p, DriveId drive,
                                                 Nanos now) const {
  const PieceProgress& progress = job.progress[p];
  if (progress.state != PieceState::kWaiting) return std::nullopt;
  const format::Piece& piece = job.pieces[p];
  for (uint8_t h = 0; h < piece.holder_count; ++h) {
    if ((progress.failed >> h & 1) != 0 || drive_of(piece.holders[h]) != drive) continue;
    if (drives_[drive.value].model.shunned(now) && other_holder(job, p, drive, now)) continue;
    return h;
  }
  return std::nullopt;
}

// Whether a drive other than that one could be asked for the piece.
bool PieceScheduler::other_holder(const Job& job, uint32_t p, DriveId drive, Nanos now) const {
  const format::Piece& piece = job.pieces[p];
  for (uint8_t h = 0; h < piece.holder_count; ++h) {
    const DriveId other = drive_of(piece.holders[h]);
    if (other != drive && (job.progress[p].failed >> h & 1) == 0 &&
        !drives_[other.value].model.shunned(now)) {
      return true;
    }
  }
  return false;
}

// Whether the other holders, if they were left with all that waits for them, would still have the
// piece before this drive could. Never so for the one that would have it first by itself, so that
// they do not all leave it to each other. Drives that are not known, or
// not any more, are given a chance.
bool PieceScheduler::better_elsewhere(const Job& job, uint32_t p, DriveId id, Nanos now) const {
  const DriveModel& mine = drives_[id.value].model;
  const format::Piece& piece = job.pieces[p];
  double rate = 0;
  uint64_t in_flight = 0, waiting = 0;
  Nanos alone = Nanos::max();
  for (uint8_t h = 0; h < piece.holder_count; ++h) {
    const DriveId drive = drive_of(piece.holders[h]);
    const DriveModel& other = drives_[drive.value].model;
    if (drive == id || (job.progress[p].failed >> h & 1) != 0 || other.shunned(now)) continue;
    if (other.rate() <= 0) return false;
    uint64_t before = 0;
    for (size_t q = 0; q <= index(job.priority); ++q) {
      before += drives_[drive.value].waiting_bytes[q];
    }
    rate += other.rate();
    in_flight += other.bytes_in_flight();
    waiting = std::max(waiting, before);
    alone = std::min(alone, other.expected(piece.bytes));
  }
  if (rate <= 0 || mine.rate() <= 0 || mine.stale(now)) return false;
  const Nanos together{static_cast<int64_t>(static_cast<double>(in_flight + waiting) / rate * 1e9)};
  return mine.expected(piece.bytes) > std::max(together, alone);
}

PieceRead PieceScheduler::start(DriveId drive, const Choice& choice, Nanos now) {
  Job& job = jobs_[choice.job];
  PieceProgress& progress = job.progress[choice.piece];
  const format::Piece& piece = job.pieces[choice.piece];
  const format::Holder& holder = piece.holders[choice.holder];
  count_waiting(job, choice.piece, /*more=*/false);
  if (--job.waiting == 0) dequeue(choice.job);
  if (job.under_way++ == 0) reading_.push_back(choice.job);
  const uint64_t bytes = read_bytes(holder);
  bytes_in_flight_ += bytes;
  const bool retry = progress.failed != 0 || progress.rounds > 0;
  progress.state = PieceState::kReading;
  progress.reading = choice.holder;
  progress.stalled = false;
  progress.started = drives_[drive.value].model.start(bytes, now);
  return {.job = {choice.job},
          .piece = choice.piece,
          .drive = drive,
          .holder = holder,
          .memory_offset = piece.memory_offset,
          .bytes = bytes,
          .piece_bytes = piece.bytes,
          .queued_bytes = progress.started.queued,
          .priority = job.priority,
          .retry = retry};
}

JobEvent PieceScheduler::end(const PieceRead& read, PieceOutcome outcome, Nanos now) {
  Job& job = jobs_[read.job.value];
  PieceProgress& progress = job.progress[read.piece];
  DriveModel& drive = drives_[read.drive.value].model;
  SLUICE_CHECK(progress.state == PieceState::kReading && job.under_way > 0);
  if (progress.stalled) drive.stall_ended();
  if (outcome == PieceOutcome::kGood) {
    drive.succeed(progress.started, read.bytes, now);
  } else {
    drive.fail(read.bytes, outcome == PieceOutcome::kDriveGone, now);
  }
  bytes_in_flight_ -= read.bytes;
  if (--job.under_way == 0) std::erase(reading_, read.job.value);
  if (outcome == PieceOutcome::kGood) {
    progress.state = PieceState::kArrived;
    return ++job.arrived == job.pieces.size() && !job.dropped ? JobEvent::kComplete
                                                              : JobEvent::kNone;
  }
  if (job.dropped) {
    progress.state = PieceState::kArrived;  // Nobody wants it.
    return JobEvent::kNone;
  }
  progress.failed = static_cast<uint8_t>(progress.failed | 1u << progress.reading);
  const uint32_t all = (1u << job.pieces[read.piece].holder_count) - 1;
  if (progress.failed == all) {
    if (++progress.rounds >= kRounds) return JobEvent::kLost;
    progress.failed = 0;
  }
  start_waiting(read.job.value, read.piece, /*first=*/true);
  return JobEvent::kRetry;
}

std::vector<JobId> PieceScheduler::find_stalled(Nanos now) {
  std::vector<JobId> found;
  for (const uint32_t j : reading_) {
    Job& job = jobs_[j];
    bool rescue = job.waiting == 0 && !job.dropped && is_demand(job.priority);
    for (uint32_t p = 0; p < job.pieces.size(); ++p) {
      PieceProgress& progress = job.progress[p];
      if (progress.state != PieceState::kReading) continue;
      const DriveId id = drive_of(job.pieces[p].holders[progress.reading]);
      DriveModel& drive = drives_[id.value].model;
      if (!progress.stalled && now >= progress.started.at + drive.stall_limit(progress.started)) {
        progress.stalled = true;
        drive.stall();
      }
      rescue &= progress.stalled && other_holder(job, p, id, now);
    }
    if (rescue) found.push_back({j});
  }
  return found;
}

bool PieceScheduler::all_stalled() const {
  return std::ranges::all_of(reading_, [&](uint32_t j) {
    return std::ranges::all_of(jobs_[j].progress, [](const PieceProgress& piece) {
      return piece.state != PieceState::kReading || piece.stalled;
    });
  });
}

void PieceScheduler::continue_as(JobId stalled, JobId fresh) {
  const Job& old = jobs_[stalled.value];
  Job& job = jobs_[fresh.value];
  pieces_of(fresh) = old.pieces;
  job.progress.assign(old.pieces.size(), {});
  job.priority = old.priority;
  job.arrived = 0;
  job.dropped = false;
  for (uint32_t p = 0; p < job.pieces.size(); ++p) {
    if (old.progress[p].state == PieceState::kArrived) {
      job.progress[p].state = PieceState::kArrived;
      ++job.arrived;
    } else {
      job.progress[p].failed = static_cast<uint8_t>(1u << old.progress[p].reading);
      job.progress[p].rounds = -1;  // Hanging is no failure yet, so that this round does not count.
      start_waiting(fresh.value, p, /*first=*/true);
    }
  }
}

std::optional<PieceRead> PieceScheduler::find_hopeless(Nanos timeout, Nanos now) const {
  for (const uint32_t j : reading_) {
    const Job& job = jobs_[j];
    if (job.dropped) continue;
    for (uint32_t p = 0; p < job.pieces.size(); ++p) {
      const PieceProgress& progress = job.progress[p];
      if (progress.state != PieceState::kReading || !progress.stalled) continue;
      const format::Holder& holder = job.pieces[p].holders[progress.reading];
      const DriveModel& drive = drives_[drive_of(holder).value].model;
      const Nanos limit = timeout + drive.stall_limit(progress.started);
      if (now - progress.started.at < limit || other_holder(job, p, drive_of(holder), now))
        continue;
      return PieceRead{.job = {j},
                       .piece = p,
                       .drive = drive_of(holder),
                       .holder = holder,
                       .memory_offset = job.pieces[p].memory_offset,
                       .bytes = read_bytes(holder),
                       .piece_bytes = job.pieces[p].bytes,
                       .queued_bytes = progress.started.queued,
                       .priority = job.priority};
    }
  }
  return std::nullopt;
}

Nanos PieceScheduler::oldest(DriveId drive, Nanos now) const {
  Nanos since = now;
  for (const uint32_t j : reading_) {
    const Job& job = jobs_[j];
    for (uint32_t p = 0; p < job.pieces.size(); ++p) {
      const PieceProgress& progress = job.progress[p];
      if (progress.state != PieceState::kReading) continue;
      if (drive_of(job.pieces[p].holders[progress.reading]) != drive) continue;
      since = std::min(since, progress.started.at);
    }
  }
  return now - since;
}

Nanos PieceScheduler::look_again(Nanos now) const {
  Nanos soonest = Nanos::max();
  for (const uint32_t j : reading_) {
    const Job& job = jobs_[j];
    for (uint32_t p = 0; p < job.pieces.size(); ++p) {
      const PieceProgress& progress = job.progress[p];
      if (progress.state != PieceState::kReading || progress.stalled) continue;
      const DriveId id = drive_of(job.pieces[p].holders[progress.reading]);
      const Nanos limit = drives_[id.value].model.stall_limit(progress.started);
      soonest = std::min(soonest, progress.started.at + limit);
    }
  }
  if (!anything_waits()) return soonest;
  for (const Drive& drive : drives_) {
    const Nanos until = drive.model.quarantined_until();
    if (until > now) soonest = std::min(soonest, until);
  }
  return soonest;
}

}  // namespace sluice::stream
