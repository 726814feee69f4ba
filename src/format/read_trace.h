#pragma once
#include "base/types.h"
#include "format/append_file.h"
#include "io/input_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// A read trace: every read of a run, and the counters that its sums must equal. It is a sequence
/// of blocks with checksums: a header, reads, and an end unless the run died. docs/formats.md
/// describes the file.

/// What the numbers of a trace mean.
struct ReadTraceHeader {
  struct File {
    DriveId drive;
    std::string path;
    friend bool operator==(const File&, const File&) = default;
  };
  /// The experts of a layer: segments that follow each other.
  struct Experts {
    uint32_t layer = 0;
    SegmentId first;
    uint32_t count = 0;
    friend bool operator==(const Experts&, const Experts&) = default;
  };

  uint64_t fingerprint = 0;               ///< Of the checkpoint.
  std::vector<std::string> priorities{};  ///< Names, by number; the order in which reads start.
  std::vector<std::string> outcomes{};    ///< Likewise; the first is that of a good read.
  std::vector<std::string> drives{};      ///< Names, by DriveId.
  std::vector<File> files{};              ///< By FileId.
  std::vector<std::string> panels{};      ///< Names of the first segments: panels of the spine.
  std::vector<Experts> experts{};         ///< All other segments.

  [[nodiscard]] uint64_t segments() const;
  /// The name of a panel, or expert and layer.
  [[nodiscard]] std::string segment_name(SegmentId segment) const;
  friend bool operator==(const ReadTraceHeader&, const ReadTraceHeader&) = default;
};

/// One read that has ended.
struct TracedRead {
  Nanos started{};     ///< By the clock of the drives, which begins anywhere.
  Nanos duration{};    ///< Not negative.
  uint64_t round = 0;  ///< Requests for experts before it ended: the barrier it belongs to.
  /// In flight on its drive when it started, its own included; whole blocks.
  uint64_t queued_bytes = 0;
  uint32_t bytes = 0;  ///< From the file.
  SegmentId segment{};
  uint32_t piece = 0;  ///< Of the segment.
  FileId file{};
  uint16_t error = 0;  ///< errno, where the outcome has one.
  uint8_t priority = 0, outcome = 0;
  bool retry = false;  ///< Another read of this piece had failed.
  friend bool operator==(const TracedRead&, const TracedRead&) = default;
};

/// Reads in the order in which they ended, and how many that ended after them are not in the trace
/// because they came faster than they could be written.
struct ReadBlock {
  std::vector<TracedRead> reads{};
  uint64_t lost = 0;
  friend bool operator==(const ReadBlock&, const ReadBlock&) = default;
};

/// What the program counted, for comparison with the sums of the reads.
struct ReadTraceEnd {
  struct Counter {
    std::string name;
    uint64_t value = 0;
    friend bool operator==(const Counter&, const Counter&) = default;
  };
  struct Drive {
    std::vector<uint64_t> bytes{};  ///< Of good reads, by priority.
    std::vector<uint64_t> reads{};  ///< By outcome.
    uint64_t quarantines = 0;
    Nanos busy{};
    double rate = 0;  ///< Bytes per second, as it was last.
    friend bool operator==(const Drive&, const Drive&) = default;
  };
  std::vector<Counter> counters{};
  std::vector<Drive> drives{};  ///< By DriveId.
  friend bool operator==(const ReadTraceEnd&, const ReadTraceEnd&) = default;
};

inline constexpr uint64_t kReadBlockMax = 4096;      ///< Reads of one block.
inline constexpr uint64_t kTraceBlockHeadBytes = 8;  ///< In front of every block.
enum class TraceBlock : uint8_t { kHeader, kReads, kEnd };

[[nodiscard]] std::vector<std::byte> encode_read_header(const ReadTraceHeader& header);
/// At most kReadBlockMax reads.
[[nodiscard]] std::vector<std::byte> encode_reads(std::span<const TracedRead> reads, uint64_t lost);
[[nodiscard]] std::vector<std::byte> encode_read_end(const ReadTraceEnd& end);

/// What a block that starts with these kTraceBlockHeadBytes bytes is, and its size; nothing when
/// none does.
struct TraceBlockHead {
  TraceBlock kind = TraceBlock::kHeader;
  uint64_t bytes = 0;  ///< With head and checksum.
};
[[nodiscard]] std::optional<TraceBlockHead> parse_block_head(std::span<const std::byte> head);
/// Whether a block, of the size that parse_block_head() gave, is as it was written.
[[nodiscard]] bool block_is_whole(std::span<const std::byte> block);

/// Each reads a whole block of its kind. Throws Error that names `path`: kCorrupt when it cannot
/// be, kUnsupported for a header of another version.
[[nodiscard]] ReadTraceHeader parse_read_header(std::span<const std::byte> block,
                                                const std::string& path);
void parse_reads(const ReadTraceHeader& header, std::span<const std::byte> block,
                 const std::string& path, ReadBlock& reads);
[[nodiscard]] ReadTraceEnd parse_read_end(const ReadTraceHeader& header,
                                          std::span<const std::byte> block,
                                          const std::string& path);

/// Writes a trace. What was appended survives the program.
class ReadTraceWriter {
 public:
  /// Throws Error as AppendFile does.
  ReadTraceWriter(const std::filesystem::path& path, const ReadTraceHeader& header);
  /// `lost`: reads that ended after these and cannot be appended.
  void append(std::span<const TracedRead> reads, uint64_t lost);
  void finish(const ReadTraceEnd& end);

 private:
  AppendFile file_;
};

/// Reads a trace front to back, holding one block in memory.
class ReadTraceReader {
 public:
  /// Throws Error that names the path.
  explicit ReadTraceReader(const std::filesystem::path& path);

  [[nodiscard]] const ReadTraceHeader& header() const { return header_; }
  /// The next reads; false after the last whole block. Throws Error.
  [[nodiscard]] bool next(ReadBlock& reads);
  /// Nothing when the run died before it wrote it. Known once next() has returned false.
  [[nodiscard]] const std::optional<ReadTraceEnd>& end() const { return end_; }
  /// Bytes at the end that are no whole block, once next() has returned false.
  [[nodiscard]] uint64_t bytes_left_out() const { return file_.bytes() - at_; }

 private:
  [[nodiscard]] std::optional<TraceBlock> next_block();
  [[nodiscard]] ReadTraceHeader read_header();

  const io::InputFile file_;
  uint64_t at_ = 0;
  std::vector<std::byte> block_;
  const ReadTraceHeader header_;
  std::optional<ReadTraceEnd> end_;
};

}  // namespace sluice::format
