#include "stream/lost_segment.h"

#include "base/error.h"

#include <cstring>

namespace sluice::stream {
namespace {

struct Reason {
  std::string what;
  const char* remedy;
};

Reason reason(const EndedRead& failure) {
  switch (failure.outcome) {
    case ReadOutcome::kShort:
      return {"the file ends before, although it was longer when it was opened",
              "check that nothing truncates or replaces it, and verify it against its checksum"};
    case ReadOutcome::kWrongChecksum:
      return {
          "these are not the bytes that were written: the checksum is wrong, also when they are "
          "read again",
          "check the drive's health (kernel log, SMART), find what else is damaged with 'sluice "
          "pack --verify', and pack or copy the file again"};
    case ReadOutcome::kBrokenFrame:
      return {"it does not decode, although its checksum is right",
              "pack the file again, and report this"};
    case ReadOutcome::kNoAnswer:
      return {"the drive has not answered in time",
              "check the drive's health (kernel log, SMART) and its connection"};
    case ReadOutcome::kGood:
    case ReadOutcome::kIoError:
      break;
  }
  return {std::string("reading failed twice: ") + std::strerror(failure.error),
          "check the drive's health (kernel log, SMART) and its connection, or copy the file to "
          "another drive"};
}

}  // namespace

void report_lost_segment(const EndedRead& failure, const std::string& path,
                         const std::string& segment) {
  const Reason why = reason(failure);
  throw Error(ErrorCode::kIo, "{}: {} bytes at offset {} ({}): {}; {}", path, failure.read.bytes,
              failure.read.holder.offset, segment, why.what, why.remedy);
}

}  // namespace sluice::stream
