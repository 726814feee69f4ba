#include "format/read_trace.h"

#include "base/check.h"
#include "base/crc32.h"
#include "base/error.h"
#include "format/read_trace_block.h"
#include "io/drive_array.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

namespace sluice::format {
namespace {

constexpr uint32_t kVersion = 2;
// Half of the range, so that start and duration may be added.
constexpr auto kTimeMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 2);

Nanos nanos(uint64_t count) { return Nanos(static_cast<int64_t>(count)); }
uint64_t count_of(Nanos time) { return static_cast<uint64_t>(time.count()); }

// The entries as they stand in the file.

struct FileRead {
  uint64_t started, duration, round;
  uint32_t segment, piece, bytes, queued_blocks;
  uint16_t file, error;
  uint8_t priority, outcome, retry, reserved;
};
static_assert(sizeof(FileRead) == 48);

struct FileRequest {
  uint64_t at, round, bytes_missed;
  uint32_t first, experts, missed, reserved;
};
static_assert(sizeof(FileRequest) == 40);

struct FileWait {
  uint64_t started, duration, round;
  uint32_t segment, reserved;
};
static_assert(sizeof(FileWait) == 32);

struct FileWaste {
  uint64_t at, round, bytes;
  uint32_t segment, reserved;
};
static_assert(sizeof(FileWaste) == 32);

FileRead in_file(const TracedRead& read) {
  return {.started = count_of(read.started),
          .duration = count_of(read.duration),
          .round = read.round,
          .segment = read.segment.value,
          .piece = read.piece,
          .bytes = read.bytes,
          .queued_blocks = static_cast<uint32_t>(read.queued_bytes / io::kBlockBytes),
          .file = read.file.value,
          .error = read.error,
          .priority = read.priority,
          .outcome = read.outcome,
          .retry = read.retry,
          .reserved = 0};
}
FileRequest in_file(const TracedRequest& request) {
  return {.at = count_of(request.at),
          .round = request.round,
          .bytes_missed = request.bytes_missed,
          .first = request.first.value,
          .experts = request.experts,
          .missed = request.missed,
          .reserved = 0};
}
FileWait in_file(const TracedWait& wait) {
  return {count_of(wait.started), count_of(wait.duration), wait.round, wait.segment.value, 0};
}
FileWaste in_file(const TracedWaste& waste) {
  return {count_of(waste.at), waste.round, waste.bytes, waste.segment.value, 0};
}

TracedRead from_file(const FileRead& read) {
  return {.started = nanos(read.started),
          .duration = nanos(read.duration),
          .round = read.round,
          .queued_bytes = uint64_t{read.queued_blocks} * io::kBlockBytes,
          .bytes = read.bytes,
          .segment = {read.segment},
          .piece = read.piece,
          .file = {read.file},
          .error = read.error,
          .priority = read.priority,
          .outcome = read.outcome,
          .retry = read.retry != 0};
}
TracedRequest from_file(const FileRequest& request) {
  return {.at = nanos(request.at),
          .round = request.round,
          .bytes_missed = request.bytes_missed,
          .first = {request.first},
          .experts = request.experts,
          .missed = request.missed};
}
TracedWait from_file(const FileWait& wait) {
  return {nanos(wait.started), nanos(wait.duration), wait.round, {wait.segment}};
}
TracedWaste from_file(const FileWaste& waste) {
  return {nanos(waste.at), waste.round, waste.bytes, {waste.segment}};
}

/// Why a header cannot be; empty when it can.
const char* trouble_of(const ReadTraceHeader& header) {
  constexpr size_t kNamesMax = std::numeric_limits<uint8_t>::max();
  if (header.priorities.size() > kNamesMax || header.outcomes.size() > kNamesMax) {
    return "it has too many names";
  }
  for (const ReadTraceHeader::File& file : header.files) {
    if (file.drive.value >= header.drives.size()) return "a file lies on a drive that is not there";
  }
  uint64_t next = header.panels.size();
  for (const ReadTraceHeader::Experts& experts : header.experts) {
    if (experts.first.value != next) return "experts do not follow what is before them";
    next += experts.count;
  }
  return next > std::numeric_limits<uint32_t>::max() ? "it has too many segments" : "";
}

/// Why an entry cannot be; empty when it can. `segments`: how many there are.
const char* trouble_of(const ReadTraceHeader& header, uint64_t segments, const FileRead& read) {
  if (read.duration > kTimeMax || read.started > kTimeMax) return "its time cannot be";
  if (read.segment >= segments) return "its segment is not in the header";
  if (read.file >= header.files.size()) return "its file is not in the header";
  if (read.priority >= header.priorities.size()) return "its priority has no name";
  if (read.outcome >= header.outcomes.size()) return "its outcome has no name";
  return read.retry > 1 || read.reserved != 0 ? "it has a field that cannot be" : "";
}
const char* trouble_of(const ReadTraceHeader& header, uint64_t segments,
                       const FileRequest& request) {
  if (request.at > kTimeMax) return "its time cannot be";
  if (request.first >= segments || request.first < header.panels.size())
    return "it names no expert";
  if (request.missed > request.experts) return "it misses more than it names";
  return request.reserved != 0 ? "it has a field that cannot be" : "";
}
const char* trouble_of(const ReadTraceHeader&, uint64_t segments, const FileWait& wait) {
  if (wait.duration > kTimeMax || wait.started > kTimeMax) return "its time cannot be";
  if (wait.segment >= segments) return "its segment is not in the header";
  return wait.reserved != 0 ? "it has a field that cannot be" : "";
}
const char* trouble_of(const ReadTraceHeader&, uint64_t segments, const FileWaste& waste) {
  if (waste.at > kTimeMax) return "its time cannot be";
  if (waste.segment >= segments) return "its segment is not in the header";
  return waste.reserved != 0 ? "it has a field that cannot be" : "";
}

[[noreturn]] void refuse(const std::string& path, const char* what, const std::string& trouble) {
  throw Error(ErrorCode::kCorrupt, "{}: the {} is damaged: {}; record the trace anew", path, what,
              trouble);
}

template <class Entry>
std::vector<std::byte> encode_entries(TraceBlock kind, std::span<const Entry> entries,
                                      uint64_t lost) {
  SLUICE_CHECK(entries.size() <= kTraceListMax);
  TraceBlockWriter out(kind);
  out.put(lost);
  out.put_count(entries.size());
  for (const Entry& entry : entries) out.put(in_file(entry));
  return out.finish();
}

template <class Entry>
void parse_entries(const ReadTraceHeader& header, std::span<const std::byte> block,
                   const std::string& path, const char* what, TraceList<Entry>& list) {
  using FileEntry = decltype(in_file(Entry{}));
  TraceBlockReader in(block);
  list.lost = in.get<uint64_t>();
  const size_t count = in.get_count(sizeof(FileEntry));
  if (count > kTraceListMax) refuse(path, what, "it has too many");
  const uint64_t segments = header.segments();
  for (size_t i = 0; i < count; ++i) {
    const auto entry = in.get<FileEntry>();
    if (const char* const trouble = trouble_of(header, segments, entry); *trouble != '\0') {
      refuse(path, what, fmt::format("entry {}: {}", i, trouble));
    }
    list.entries.push_back(from_file(entry));
  }
  if (!in.complete()) refuse(path, what, "they do not fit its size");
}

}  // namespace

uint64_t ReadTraceHeader::segments() const {
  return experts.empty() ? panels.size()
                         : uint64_t{experts.back().first.value} + experts.back().count;
}

std::optional<size_t> ReadTraceHeader::experts_of(SegmentId segment) const {
  if (segment.value < panels.size()) return std::nullopt;
  const auto after = std::ranges::upper_bound(experts, segment, {}, &Experts::first);
  SLUICE_CHECK(after != experts.begin());
  return static_cast<size_t>(after - experts.begin()) - 1;
}

std::string ReadTraceHeader::segment_name(SegmentId segment) const {
  const std::optional<size_t> layer = experts_of(segment);
  if (!layer) return panels[segment.value];
  const Experts& of_layer = experts[*layer];
  return fmt::format("expert {} of layer {}", segment.value - of_layer.first.value, of_layer.layer);
}

std::vector<std::byte> encode_read_header(const ReadTraceHeader& header) {
  SLUICE_CHECK(*trouble_of(header) == '\0');
  TraceBlockWriter out(TraceBlock::kHeader);
  out.put(kVersion);
  out.put(header.fingerprint);
  out.put_texts(header.priorities);
  out.put_texts(header.outcomes);
  out.put_texts(header.drives);
  out.put_count(header.files.size());
  for (const ReadTraceHeader::File& file : header.files) {
    out.put(file.drive.value);
    out.put_text(file.path);
  }
  out.put_texts(header.panels);
  out.put_count(header.experts.size());
  for (const ReadTraceHeader::Experts& experts : header.experts) {
    out.put(experts.layer);
    out.put(experts.first.value);
    out.put(experts.count);
  }
  return out.finish();
}

std::vector<std::byte> encode_list(std::span<const TracedRead> reads, uint64_t lost) {
  return encode_entries(TraceBlock::kReads, reads, lost);
}
std::vector<std::byte> encode_list(std::span<const TracedRequest> requests, uint64_t lost) {
  return encode_entries(TraceBlock::kRequests, requests, lost);
}
std::vector<std::byte> encode_list(std::span<const TracedWait> waits, uint64_t lost) {
  return encode_entries(TraceBlock::kWaits, waits, lost);
}
std::vector<std::byte> encode_list(std::span<const TracedWaste> wastes, uint64_t lost) {
  return encode_entries(TraceBlock::kWastes, wastes, lost);
}

std::vector<std::byte> encode_read_end(const ReadTraceEnd& end) {
  TraceBlockWriter out(TraceBlock::kEnd);
  out.put_count(end.counters.size());
  for (const ReadTraceEnd::Counter& counter : end.counters) {
    out.put_text(counter.name);
    out.put(counter.value);
  }
  for (const ReadTraceEnd::Drive& drive : end.drives) {
    for (const uint64_t bytes : drive.bytes) out.put(bytes);
    for (const uint64_t reads : drive.reads) out.put(reads);
    out.put(drive.quarantines);
    out.put(count_of(drive.busy));
    out.put(drive.rate);
    out.put(count_of(drive.oldest));
  }
  return out.finish();
}

std::optional<TraceBlockHead> parse_block_head(std::span<const std::byte> head) {
  SLUICE_CHECK(head.size() == kTraceBlockHeadBytes);
  const std::string_view magic(reinterpret_cast<const char*>(head.data()), kTraceMagics[0].size());
  const auto kind = std::ranges::find(kTraceMagics, magic);
  uint32_t body = 0;
  std::memcpy(&body, head.data() + kTraceBlockHeadBytes - sizeof body, sizeof body);
  if (kind == kTraceMagics.end() || body > kTraceBodyMax) return std::nullopt;
  return TraceBlockHead{static_cast<TraceBlock>(kind - kTraceMagics.begin()),
                        kTraceBlockHeadBytes + body + kTraceCrcBytes};
}

bool block_is_whole(std::span<const std::byte> block) {
  const std::span<const std::byte> body = block.first(block.size() - kTraceCrcBytes);
  uint32_t crc = 0;
  std::memcpy(&crc, block.data() + body.size(), sizeof crc);
  return crc32(body) == crc;
}

ReadTraceHeader parse_read_header(std::span<const std::byte> block, const std::string& path) {
  TraceBlockReader in(block);
  const auto version = in.get<uint32_t>();
  if (version != kVersion) {
    throw Error(ErrorCode::kUnsupported,
                "{}: has format version {}, but this program reads {}; record the trace anew", path,
                version, kVersion);
  }
  ReadTraceHeader header;
  header.fingerprint = in.get<uint64_t>();
  header.priorities = in.get_texts();
  header.outcomes = in.get_texts();
  header.drives = in.get_texts();
  header.files.resize(in.get_count(sizeof(uint16_t) + sizeof(uint32_t)));
  for (ReadTraceHeader::File& file : header.files) {
    file.drive.value = in.get<uint16_t>();
    file.path = in.get_text();
  }
  header.panels = in.get_texts();
  header.experts.resize(in.get_count(3 * sizeof(uint32_t)));
  for (ReadTraceHeader::Experts& experts : header.experts) {
    experts.layer = in.get<uint32_t>();
    experts.first.value = in.get<uint32_t>();
    experts.count = in.get<uint32_t>();
  }
  const char* const trouble = in.complete() ? trouble_of(header) : "its tables do not fit its size";
  if (*trouble != '\0') refuse(path, "header", trouble);
  return header;
}

void parse_list(const ReadTraceHeader& header, TraceBlock kind, std::span<const std::byte> block,
                const std::string& path, TraceEvents& events) {
  events.each_list([](auto& list) {
    list.entries.clear();
    list.lost = 0;
  });
  switch (kind) {
    case TraceBlock::kReads:
      return parse_entries(header, block, path, "block of reads", events.reads);
    case TraceBlock::kRequests:
      return parse_entries(header, block, path, "block of requests", events.requests);
    case TraceBlock::kWaits:
      return parse_entries(header, block, path, "block of waits", events.waits);
    case TraceBlock::kWastes:
      return parse_entries(header, block, path, "block of what was given up", events.wastes);
    case TraceBlock::kHeader:
    case TraceBlock::kEnd:
      SLUICE_CHECK(false);
  }
}

ReadTraceEnd parse_read_end(const ReadTraceHeader& header, std::span<const std::byte> block,
                            const std::string& path) {
  TraceBlockReader in(block);
  ReadTraceEnd end;
  end.counters.resize(in.get_count(sizeof(uint32_t) + sizeof(uint64_t)));
  for (ReadTraceEnd::Counter& counter : end.counters) {
    counter.name = in.get_text();
    counter.value = in.get<uint64_t>();
  }
  const uint64_t values = header.priorities.size() + header.outcomes.size() + 4;
  if (in.has(header.drives.size() * values * sizeof(uint64_t))) {
    end.drives.resize(header.drives.size());
  }
  for (ReadTraceEnd::Drive& drive : end.drives) {
    drive.bytes.resize(header.priorities.size());
    drive.reads.resize(header.outcomes.size());
    for (uint64_t& bytes : drive.bytes) bytes = in.get<uint64_t>();
    for (uint64_t& reads : drive.reads) reads = in.get<uint64_t>();
    drive.quarantines = in.get<uint64_t>();
    drive.busy = nanos(in.get<uint64_t>());
    drive.rate = in.get<double>();
    drive.oldest = nanos(in.get<uint64_t>());
    if (std::max(count_of(drive.busy), count_of(drive.oldest)) > kTimeMax) {
      refuse(path, "end", "a time cannot be");
    }
  }
  if (!in.complete()) refuse(path, "end", "its counters do not fit its size");
  return end;
}

}  // namespace sluice::format
