#include "format/read_trace_file.h"

#include "base/error.h"

#include <algorithm>
#include <span>

namespace sluice::format {
namespace {

template <class Entry>
void append_list(AppendFile& file, const TraceList<Entry>& list) {
  std::span<const Entry> rest = list.entries;
  while (rest.size() > kTraceListMax) {
    file.append(encode_list(rest.first(kTraceListMax), 0));
    rest = rest.subspan(kTraceListMax);
  }
  if (!rest.empty() || list.lost > 0) file.append(encode_list(rest, list.lost));
}

}  // namespace

ReadTraceWriter::ReadTraceWriter(const std::filesystem::path& path, const ReadTraceHeader& header)
    : file_(path) {
  file_.append(encode_read_header(header));
}

void ReadTraceWriter::append(const TraceEvents& events) {
  events.each_list([this](const auto& list) { append_list(file_, list); });
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

bool ReadTraceReader::next(TraceEvents& events) {
  if (end_) return false;
  const std::optional<TraceBlock> kind = next_block();
  if (!kind) return false;
  switch (*kind) {
    case TraceBlock::kHeader:
      throw Error(ErrorCode::kCorrupt, "{}: has two headers; record the trace anew", file_.path());
    case TraceBlock::kEnd:
      end_ = parse_read_end(header_, block_, file_.path());
      return false;
    default:
      parse_list(header_, *kind, block_, file_.path(), events);
      return true;
  }
}

}  // namespace sluice::format
