#include "stream/piece_reads.h"

#include "base/check.h"

#include <array>
#include <optional>

namespace sluice::stream {

void PieceReads::gather(PieceScheduler& scheduler,
                        const std::function<std::span<std::byte>(const PieceRead&)>& memory_of) {
  const Nanos now = drives_.now();
  while (const std::optional<PieceRead> read = scheduler.next(now)) {
    const std::span<std::byte> memory =
        memory_of(*read).subspan(read->memory_offset, read->piece_bytes);
    const io::ReadId id{next_id_++};
    under_way_.emplace(id.value, UnderWay{*read, memory, now});
    gathered_.push_back({.id = id,
                         .file = read->holder.file,
                         .offset = read->holder.offset,
                         .into = memory.first(read->bytes)});
  }
}

void PieceReads::submit() {
  if (!gathered_.empty()) drives_.submit(gathered_);
  gathered_.clear();
}

std::span<const EndedRead> PieceReads::wait(Nanos timeout) {
  submit();
  std::array<io::Completion, 64> done;
  const size_t count = drives_.wait(done, timeout);
  const Nanos now = drives_.now();
  ended_.clear();
  for (const io::Completion& completion : std::span(done).first(count)) {
    ended_.push_back(finish(completion, now));
  }
  return ended_;
}

EndedRead PieceReads::finish(const io::Completion& completion, Nanos now) {
  const auto entry = under_way_.find(completion.id.value);
  SLUICE_CHECK(entry != under_way_.end());
  const UnderWay read = entry->second;
  under_way_.erase(entry);
  EndedRead ended{
      .read = read.read, .error = completion.error, .started = read.started, .ended = now};
  switch (completion.status) {
    case io::ReadStatus::kIoError:
      ended.outcome = ReadOutcome::kIoError;
      break;
    case io::ReadStatus::kShort:
      ended.outcome = ReadOutcome::kShort;
      break;
    case io::ReadStatus::kOk:
      if (drives_.hollow()) break;
      switch (decoder_.accept(read.read.holder, read.memory)) {
        case format::PieceVerdict::kGood:
          break;
        case format::PieceVerdict::kWrongChecksum:
          ended.outcome = ReadOutcome::kWrongChecksum;
          break;
        case format::PieceVerdict::kBrokenFrame:
          ended.outcome = ReadOutcome::kBrokenFrame;
          break;
      }
      break;
  }
  return ended;
}

}  // namespace sluice::stream
