#pragma once
#include "base/types.h"

#include <span>
#include <string>
#include <vector>

namespace sluice::io {

using ReadId = Id<struct ReadTag, uint64_t>;

/// Reads round outwards to this many bytes: a multiple of what nearly every file system asks of
/// direct reads. Files on one that asks for more are read through the page cache.
inline constexpr uint64_t kBlockBytes = 4096;

/// One read. `offset`, `into.size()` and `into.data()` are multiples of kBlockBytes. A read may
/// reach past the end of the file by less than a block; what lies past the end is left as it was.
struct Read {
  ReadId id;
  FileId file;
  uint64_t offset = 0;  ///< Bytes from the start of the file.
  std::span<std::byte> into;
};

enum class ReadStatus : uint8_t { kOk, kIoError, kShort };

struct Completion {
  ReadId id;
  ReadStatus status = ReadStatus::kOk;
  int error = 0;  ///< errno for kIoError.
};

/// Files on drives that read asynchronously, and the clock that times them. One thread calls it at
/// a time, and the one that submits stays until its reads have ended; any thread may call wake(),
/// now() and what describes files and drives. A file is a shard or a pack; a drive is what its
/// files share a rate and a fate with.
class DriveArray {
 public:
  virtual ~DriveArray() = default;
  [[nodiscard]] virtual size_t file_count() const = 0;
  /// For messages.
  [[nodiscard]] virtual const std::string& path(FileId file) const = 0;
  /// Where a file lies; drives are numbered from 0.
  [[nodiscard]] virtual DriveId drive(FileId file) const = 0;
  [[nodiscard]] virtual size_t drive_count() const = 0;
  /// True when reads of this file go around the page cache.
  [[nodiscard]] virtual bool direct(FileId file) const = 0;
  /// True when reads take their time and bring nothing, so that nobody may look at their memory.
  [[nodiscard]] virtual bool hollow() const { return false; }
  /// How reads are made, in words.
  [[nodiscard]] virtual std::string method() const = 0;
  /// Says where most reads will land, in place of what was said before, so that the system can
  /// prepare that memory once instead of at each read. It must stay mapped until the next such
  /// call; no read may be under way.
  virtual void use_memory(std::span<std::byte> memory) { (void)memory; }
  /// Starts the reads. Their buffers must live until their completions have been returned.
  virtual void submit(std::span<const Read> reads) = 0;
  /// Returns up to out.size() completions; waits for the first one, for at most `timeout`, or until
  /// wake().
  virtual size_t wait(std::span<Completion> out, Nanos timeout) = 0;
  /// Ends a wait() in progress, or the next one, early.
  virtual void wake() = 0;
  [[nodiscard]] virtual Nanos now() const = 0;
};

}  // namespace sluice::io
