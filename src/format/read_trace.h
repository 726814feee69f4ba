#pragma once
#include "base/types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::format {

/// A read trace: every read of a run, what was waited for because of them, and the counters that
/// the sums must equal. It is a sequence of blocks with checksums: a header, lists of entries, and
/// an end unless the run died. docs/formats.md describes the file; read_trace_file.h reads and
/// writes it.

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
  /// Whose expert it is, as an index into `experts`; nothing for a panel.
  [[nodiscard]] std::optional<size_t> experts_of(SegmentId segment) const;
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

/// A request for experts. What follows in the trace until the next one belongs to its layer.
struct TracedRequest {
  Nanos at{};
  uint64_t round = 0;         ///< Requests for experts until then, this one included.
  uint64_t bytes_missed = 0;  ///< Of experts that no earlier request had asked for.
  SegmentId first{};          ///< One of its experts, which tells the layer.
  uint32_t experts = 0;       ///< That it names,
  uint32_t missed = 0;        ///< and how many of them were not in memory.
  friend bool operator==(const TracedRequest&, const TracedRequest&) = default;
};

/// A time in which nothing could be computed for want of a segment.
struct TracedWait {
  Nanos started{};
  Nanos duration{};     ///< Not negative.
  uint64_t round = 0;   ///< Requests for experts before it ended.
  SegmentId segment{};  ///< What ended it.
  friend bool operator==(const TracedWait&, const TracedWait&) = default;
};

/// Bytes that a hint had brought and that were given up before a request asked for them.
struct TracedWaste {
  Nanos at{};
  uint64_t round = 0;
  uint64_t bytes = 0;
  SegmentId segment{};
  friend bool operator==(const TracedWaste&, const TracedWaste&) = default;
};

/// Entries in the order in which they came, and how many after them are not in the trace because
/// they came faster than they could be written.
template <class Entry>
struct TraceList {
  std::vector<Entry> entries{};
  uint64_t lost = 0;
  friend bool operator==(const TraceList&, const TraceList&) = default;
};

/// What happened, up to one moment and since the one before.
struct TraceEvents {
  TraceList<TracedRead> reads{};
  TraceList<TracedRequest> requests{};
  TraceList<TracedWait> waits{};
  TraceList<TracedWaste> wastes{};
  friend bool operator==(const TraceEvents&, const TraceEvents&) = default;

  /// Calls `visit` with each list: what is waited for or given up follows what it came from.
  template <class Visit>
  void each_list(Visit visit) {
    visit(requests), visit(waits), visit(reads), visit(wastes);
  }
  template <class Visit>
  void each_list(Visit visit) const {
    visit(requests), visit(waits), visit(reads), visit(wastes);
  }
};

/// What the program counted, for comparison with the sums of the entries.
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
    Nanos oldest{};   ///< Age of its oldest read that had not ended; 0: there was none.
    friend bool operator==(const Drive&, const Drive&) = default;
  };
  std::vector<Counter> counters{};
  std::vector<Drive> drives{};  ///< By DriveId.
  friend bool operator==(const ReadTraceEnd&, const ReadTraceEnd&) = default;
};

inline constexpr uint64_t kTraceListMax = 4096;      ///< Entries of one block.
inline constexpr uint64_t kTraceBlockHeadBytes = 8;  ///< In front of every block.
enum class TraceBlock : uint8_t { kHeader, kReads, kRequests, kWaits, kWastes, kEnd };

[[nodiscard]] std::vector<std::byte> encode_read_header(const ReadTraceHeader& header);
/// Each at most kTraceListMax entries.
[[nodiscard]] std::vector<std::byte> encode_list(std::span<const TracedRead> reads, uint64_t lost);
[[nodiscard]] std::vector<std::byte> encode_list(std::span<const TracedRequest> requests,
                                                 uint64_t lost);
[[nodiscard]] std::vector<std::byte> encode_list(std::span<const TracedWait> waits, uint64_t lost);
[[nodiscard]] std::vector<std::byte> encode_list(std::span<const TracedWaste> wastes,
                                                 uint64_t lost);
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
/// Of any list; the lists of other kinds are empty then.
void parse_list(const ReadTraceHeader& header, TraceBlock kind, std::span<const std::byte> block,
                const std::string& path, TraceEvents& events);
[[nodiscard]] ReadTraceEnd parse_read_end(const ReadTraceHeader& header,
                                          std::span<const std::byte> block,
                                          const std::string& path);

}  // namespace sluice::format
