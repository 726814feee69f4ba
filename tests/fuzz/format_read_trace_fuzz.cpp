// Any bytes as a read trace, with the right checksums, which no search would find: they are refused
// with an Error, or every block that is read would be written as the same bytes.
#include "base/check.h"
#include "base/crc32.h"
#include "base/error.h"
#include "format/read_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sluice::format;

const std::string kPath = "fuzz.slrd";

/// The block that `rest` begins with, its checksum made right, and whether it was; takes it off.
/// Empty when none begins there.
std::vector<std::byte> take_block(std::span<const std::byte>& rest, TraceBlock& kind) {
  if (rest.size() < kTraceBlockHeadBytes) return {};
  const std::optional<TraceBlockHead> head = parse_block_head(rest.first(kTraceBlockHeadBytes));
  if (!head || head->bytes > rest.size()) return {};
  kind = head->kind;
  std::vector<std::byte> block(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(head->bytes));
  rest = rest.subspan(head->bytes);
  const bool whole = block_is_whole(block);
  const std::span<std::byte> body = std::span(block).first(block.size() - sizeof(uint32_t));
  const uint32_t crc = sluice::crc32(body);
  SLUICE_CHECK(whole == (std::memcmp(block.data() + body.size(), &crc, sizeof crc) == 0));
  std::memcpy(block.data() + body.size(), &crc, sizeof crc);
  return block;
}

void check_block(const ReadTraceHeader& header, TraceBlock kind, std::span<const std::byte> block) {
  if (kind == TraceBlock::kEnd) {
    const ReadTraceEnd end = parse_read_end(header, block, kPath);
    SLUICE_CHECK(std::ranges::equal(encode_read_end(end), block));
  } else if (kind != TraceBlock::kHeader) {
    TraceEvents events;
    parse_list(header, kind, block, kPath, events);
    for (const TracedRead& read : events.reads.entries) (void)header.segment_name(read.segment);
    for (const TracedRequest& request : events.requests.entries) {
      (void)header.segment_name(request.first);
    }
    for (const TracedWait& wait : events.waits.entries) (void)header.segment_name(wait.segment);
    for (const TracedWaste& waste : events.wastes.entries) {
      (void)header.segment_name(waste.segment);
    }
    bool same = false;
    events.each_list([&](const auto& list) {
      same |= std::ranges::equal(encode_list(list.entries, list.lost), block);
    });
    SLUICE_CHECK(same);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size));
  try {
    TraceBlock kind = TraceBlock::kHeader;
    std::vector<std::byte> block = take_block(rest, kind);
    if (block.empty() || kind != TraceBlock::kHeader) return 0;
    const ReadTraceHeader header = parse_read_header(block, kPath);
    SLUICE_CHECK(std::ranges::equal(encode_read_header(header), block));
    while (!(block = take_block(rest, kind)).empty()) check_block(header, kind, block);
  } catch (const sluice::Error& error) {
    SLUICE_CHECK(std::string_view(error.what()).starts_with(kPath));
  }
  return 0;
}
