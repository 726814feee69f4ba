#pragma once
#include "base/types.h"
#include "format/piece_decoder.h"
#include "io/drive_array.h"
#include "stream/piece_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

namespace sluice::stream {

/// How one read ended.
enum class ReadOutcome : uint8_t {
  kGood,
  kIoError,
  kShort,          ///< The file ends before.
  kWrongChecksum,  ///< What was read is not what was written.
  kBrokenFrame,    ///< It does not decode, though the checksum is right.
  kNoAnswer,       ///< It has not ended in time.
};
inline constexpr size_t kReadOutcomes = 6;

/// A read that has ended.
struct EndedRead {
  PieceRead read;
  ReadOutcome outcome = ReadOutcome::kGood;
  int error = 0;  ///< errno for kIoError.
  Nanos started{}, ended{};
};

/// The reads under way: makes those that a scheduler chooses, and checks and decodes what they
/// bring. One thread; gather() and the scheduler are to be guarded by their owner's mutex, the rest
/// needs none.
class PieceReads {
 public:
  /// `drives` must outlive it.
  explicit PieceReads(io::DriveArray& drives) : drives_(drives) {}

  /// Asks for all reads that can start now. `memory_of` is told of each and gives the memory of its
  /// job's segment.
  void gather(PieceScheduler& scheduler,
              const std::function<std::span<std::byte>(const PieceRead&)>& memory_of);
  /// Starts what was gathered.
  void submit();
  /// Starts what was gathered and waits until something ends, at most for `timeout` or until the
  /// drives are woken. The result is valid until the next call.
  [[nodiscard]] std::span<const EndedRead> wait(Nanos timeout);

 private:
  struct UnderWay {
    PieceRead read;
    std::span<std::byte> memory;  // Of the piece.
    Nanos started{};
  };
  [[nodiscard]] EndedRead finish(const io::Completion& completion, Nanos now);

  io::DriveArray& drives_;
  format::PieceDecoder decoder_;
  std::unordered_map<uint64_t, UnderWay> under_way_;  // By the id of the read.
  std::vector<io::Read> gathered_;
  std::vector<EndedRead> ended_;
  uint64_t next_id_ = 0;
};

}  // namespace sluice::stream
