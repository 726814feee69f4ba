#include "format/read_trace.h"

#include "base/check.h"
#include "base/crc32.h"
#include "base/error.h"
#include "format/plain_bytes.h"
#include "io/drive_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

namespace sluice::format {
namespace {

constexpr uint32_t kVersion = 1;
constexpr std::array<std::string_view, 3> kMagics = {"SLRD", "READ", "ENDS"};  // By TraceBlock.
constexpr uint64_t kCrcBytes = sizeof(uint32_t);
// More than any block has, so that a damaged head does not ask for all memory.
constexpr uint32_t kBodyBytesMax = 1u << 26;

struct FileRead {
  uint64_t started, duration, round;
  uint32_t segment, piece, bytes, queued_blocks;
  uint16_t file, error;
  uint8_t priority, outcome, retry, reserved;
};
static_assert(sizeof(FileRead) == 48);

/// The bytes of a block as they are put together.
class BlockWriter {
 public:
  explicit BlockWriter(TraceBlock kind) {
    for (const char c : kMagics[static_cast<size_t>(kind)]) put(c);
    put(uint32_t{0});  // Its size, when it is known.
  }
  template <class T>
  void put(const T& value) {
    append(bytes_, value);
  }
  void put_count(size_t count) { put(static_cast<uint32_t>(count)); }
  void put_text(const std::string& text) {
    put_count(text.size());
    const auto bytes = std::as_bytes(std::span(text));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_texts(const std::vector<std::string>& texts) {
    put_count(texts.size());
    for (const std::string& text : texts) put_text(text);
  }
  [[nodiscard]] std::vector<std::byte> finish() {
    const auto body = static_cast<uint32_t>(bytes_.size() - kTraceBlockHeadBytes);
    SLUICE_CHECK(body <= kBodyBytesMax);
    std::memcpy(bytes_.data() + kTraceBlockHeadBytes - sizeof body, &body, sizeof body);
    put(crc32(bytes_));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes a block apart. What is asked of it beyond its end is empty, and ok() tells.
class BlockReader {
 public:
  explicit BlockReader(std::span<const std::byte> block)
      : rest_(
            block.subspan(kTraceBlockHeadBytes, block.size() - kTraceBlockHeadBytes - kCrcBytes)) {}
  template <class T>
  T get() {
    T value{};
    const std::span<const std::byte> bytes = take(sizeof value);
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  /// Of things that take at least so many bytes each, so that no damaged count asks for more
  /// memory than the block has.
  size_t get_count(size_t bytes_each) {
    const auto count = get<uint32_t>();
    ok_ &= count <= rest_.size() / bytes_each;
    return ok_ ? count : 0;
  }
  std::string get_text() {
    const std::span<const std::byte> bytes = take(get_count(1));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::string> get_texts() {
    std::vector<std::string> texts(get_count(sizeof(uint32_t)));
    for (std::string& text : texts) text = get_text();
    return texts;
  }
  /// Whether so many bytes follow.
  [[nodiscard]] bool has(uint64_t bytes) const { return bytes <= rest_.size(); }
  /// Everything was there, and nothing more.
  [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::span<const std::byte> take(size_t bytes) {
    ok_ &= bytes <= rest_.size();
    if (!ok_) return {};
    const std::span<const std::byte> taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

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

/// Why a read cannot be; empty when it can.
const char* trouble_of(const ReadTraceHeader& header, uint64_t segments, const FileRead& read) {
  // Half of the range, so that start and duration may be added.
  constexpr auto kTimeMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max() / 2);
  if (read.duration > kTimeMax || read.started > kTimeMax) return "its time cannot be";
  if (read.segment >= segments) return "its segment is not in the header";
  if (read.file >= header.files.size()) return "its file is not in the header";
  if (read.priority >= header.priorities.size()) return "its priority has no name";
  if (read.outcome >= header.outcomes.size()) return "its outcome has no name";
  return read.retry > 1 || read.reserved != 0 ? "it has a field that cannot be" : "";
}

[[noreturn]] void refuse(const std::string& path, const char* what, const std::string& trouble) {
  throw Error(ErrorCode::kCorrupt, "{}: the {} is damaged: {}; record the trace anew", path, what,
              trouble);
}

Nanos nanos(uint64_t count) { return Nanos(static_cast<int64_t>(count)); }
uint64_t count_of(Nanos time) { return static_cast<uint64_t>(time.count()); }

}  // namespace

uint64_t ReadTraceHeader::segments() const {
  return experts.empty() ? panels.size()
                         : uint64_t{experts.back().first.value} + experts.back().count;
}

std::string ReadTraceHeader::segment_name(SegmentId segment) const {
  if (segment.value < panels.size()) return panels[segment.value];
  const auto after = std::ranges::upper_bound(experts, segment, {}, &Experts::first);
  SLUICE_CHECK(after != experts.begin());
  const Experts& of_layer = *std::prev(after);
  return fmt::format("expert {} of layer {}", segment.value - of_layer.first.value, of_layer.layer);
}

std::vector<std::byte> encode_read_header(const ReadTraceHeader& header) {
  SLUICE_CHECK(*trouble_of(header) == '\0');
  BlockWriter out(TraceBlock::kHeader);
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

std::vector<std::byte> encode_reads(std::span<const TracedRead> reads, uint64_t lost) {
  SLUICE_CHECK(reads.size() <= kReadBlockMax);
  BlockWriter out(TraceBlock::kReads);
  out.put(lost);
  out.put_count(reads.size());
  for (const TracedRead& read : reads) {
    out.put(FileRead{.started = count_of(read.started),
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
                     .reserved = 0});
  }
  return out.finish();
}

std::vector<std::byte> encode_read_end(const ReadTraceEnd& end) {
  BlockWriter out(TraceBlock::kEnd);
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
  }
  return out.finish();
}

std::optional<TraceBlockHead> parse_block_head(std::span<const std::byte> head) {
  SLUICE_CHECK(head.size() == kTraceBlockHeadBytes);
  const std::string_view magic(reinterpret_cast<const char*>(head.data()), kMagics[0].size());
  const auto kind = std::ranges::find(kMagics, magic);
  uint32_t body = 0;
  std::memcpy(&body, head.data() + kTraceBlockHeadBytes - sizeof body, sizeof body);
  if (kind == kMagics.end() || body > kBodyBytesMax) return std::nullopt;
  return TraceBlockHead{static_cast<TraceBlock>(kind - kMagics.begin()),
                        kTraceBlockHeadBytes + body + kCrcBytes};
}

bool block_is_whole(std::span<const std::byte> block) {
  const std::span<const std::byte> body = block.first(block.size() - kCrcBytes);
  uint32_t crc = 0;
  std::memcpy(&crc, block.data() + body.size(), sizeof crc);
  return crc32(body) == crc;
}

ReadTraceHeader parse_read_header(std::span<const std::byte> block, const std::string& path) {
  BlockReader in(block);
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

void parse_reads(const ReadTraceHeader& header, std::span<const std::byte> block,
                 const std::string& path, ReadBlock& reads) {
  BlockReader in(block);
  reads.lost = in.get<uint64_t>();
  const size_t count = in.get_count(sizeof(FileRead));
  if (count > kReadBlockMax) refuse(path, "block of reads", "it has too many");
  const uint64_t segments = header.segments();
  reads.reads.clear();
  for (size_t i = 0; i < count; ++i) {
    const auto read = in.get<FileRead>();
    if (const char* const trouble = trouble_of(header, segments, read); *trouble != '\0') {
      refuse(path, "block of reads", fmt::format("read {}: {}", i, trouble));
    }
    reads.reads.push_back({.started = nanos(read.started),
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
                           .retry = read.retry != 0});
  }
  if (!in.complete()) refuse(path, "block of reads", "they do not fit its size");
}

ReadTraceEnd parse_read_end(const ReadTraceHeader& header, std::span<const std::byte> block,
                            const std::string& path) {
  BlockReader in(block);
  ReadTraceEnd end;
  end.counters.resize(in.get_count(sizeof(uint32_t) + sizeof(uint64_t)));
  for (ReadTraceEnd::Counter& counter : end.counters) {
    counter.name = in.get_text();
    counter.value = in.get<uint64_t>();
  }
  const uint64_t values = header.priorities.size() + header.outcomes.size() + 3;
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
  }
  if (!in.complete()) refuse(path, "end", "its counters do not fit its size");
  return end;
}

ReadTraceWriter::ReadTraceWriter(const std::filesystem::path& path, const ReadTraceHeader& header)
    : file_(path) {
  file_.append(encode_read_header(header));
}

void ReadTraceWriter::append(std::span<const TracedRead> reads, uint64_t lost) {
  while (reads.size() > kReadBlockMax) {
    file_.append(encode_reads(reads.first(kReadBlockMax), 0));
    reads = reads.subspan(kReadBlockMax);
  }
  if (!reads.empty() || lost > 0) file_.append(encode_reads(reads, lost));
}

void ReadTraceWriter::finish(const ReadTraceEnd& end) { file_.append(encode_read_end(end)); }

ReadTraceReader::ReadTraceReader(const std::filesystem::path& path)
    : file_(path.string()), header_(read_header()) {}

ReadTraceHeader ReadTraceReader::read_header() {
  if (next_block() != TraceBlock::kHeader) {
    throw Error(ErrorCode::kCorrupt,
                "{}: is not a read trace, or its header is damaged; give a file that --read-trace "
                "wrote",
                file_.path());
  }
  return parse_read_header(block_, file_.path());
}

/// Reads a block and goes behind it; nothing when none is whole.
std::optional<TraceBlock> ReadTraceReader::next_block() {
  if (bytes_left_out() < kTraceBlockHeadBytes) return std::nullopt;
  block_.resize(kTraceBlockHeadBytes);
  file_.read(at_, block_);
  const std::optional<TraceBlockHead> head = parse_block_head(block_);
  if (!head || head->bytes > bytes_left_out()) return std::nullopt;
  block_.resize(head->bytes);
  file_.read(at_, block_);
  if (!block_is_whole(block_)) return std::nullopt;
  at_ += head->bytes;
  return head->kind;
}

bool ReadTraceReader::next(ReadBlock& reads) {
  if (end_) return false;
  const std::optional<TraceBlock> kind = next_block();
  if (!kind) return false;
  if (*kind == TraceBlock::kHeader) {
    throw Error(ErrorCode::kCorrupt, "{}: has two headers; record the trace anew", file_.path());
  }
  if (*kind == TraceBlock::kReads) {
    parse_reads(header_, block_, file_.path(), reads);
    return true;
  }
  end_ = parse_read_end(header_, block_, file_.path());
  return false;
}

}  // namespace sluice::format
